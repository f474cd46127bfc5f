# A small interpreter: the core, numbers of any size, formatted text, and output.
MRuby::Build.new do |build|
  build.toolchain :gcc
  gems = "#{MRUBY_ROOT}/mrbgems"
  wanted = %w[mruby-bin-mruby mruby-bin-mrbc mruby-bigint mruby-sprintf mruby-array-ext mruby-hash-ext mruby-print mruby-regexp]
  wanted << "mruby-io" unless File.directory?("#{gems}/mruby-print")
  wanted.each { |name| build.gem core: name if File.directory?("#{gems}/#{name}") }
end
