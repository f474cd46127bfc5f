# A page made by 14 helpers, as many as a JIT may keep or not: its cache is what is swept.
#
#     page.rb SECONDS
#
# All helpers are compiled first (as far as the cache takes them); what is printed is how many pages
# a second are made after that.
require 'erb'
HELPERS = 14
module Helpers
  HELPERS.times do |i|
    class_eval <<~RUBY, __FILE__, __LINE__ + 1
      def cell_#{i}(n)
        i = 0
        sum = n
        while i < 20
          sum += i & #{i + 1}
          sum -= 3 if sum > 100
          i += 1
        end
        sum
      end
    RUBY
  end
end
page = Object.new.extend(Helpers)
cells = (0...HELPERS).map { |i| "<td><%= cell_#{i}(n) %></td>" }.join("\n")
ERB.new("<tr>#{cells}</tr>").def_method(page.singleton_class, 'render(n)')
500.times { |n| page.render(n) }
RubyVM::MJIT.pause(wait: true) if defined?(RubyVM::MJIT) && RubyVM::MJIT.enabled?
seconds = Float(ARGV[0])
clock = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
began = clock.call
count = 0
until (spent = clock.call - began) > seconds
  50.times { |n| page.render(n) }
  count += 50
end
puts "pages/s=#{(count / spent).round(1)}"
