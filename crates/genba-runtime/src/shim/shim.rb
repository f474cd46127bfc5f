# Loaded before a program by genba (RUBYOPT=-r…): reports what the garbage collector did, at the
# end of the process that it was loaded into, and of no other.
#
# Constants and methods of its own stay inside; nothing of the program's is changed.
lambda do
  descriptor = ENV["GENBA_METRICS_FD"]
  was = ENV.delete("GENBA_RUBYOPT")
  # What the program starts is not measured, and must not see this.
  if was && !was.empty?
    ENV["RUBYOPT"] = was
  else
    ENV.delete("RUBYOPT")
  end
  break unless descriptor
  number = descriptor.to_i
  # Not a descriptor that by now is something else's.
  mine = File.readlink("/proc/self/fd/#{number}").include?("memfd:genba-metrics") rescue false
  break unless mine
  iterations = ENV["GENBA_ITERATIONS"].to_f
  pid = Process.pid
  before = GC.stat
  time = -> { GC.respond_to?(:total_time) ? GC.total_time / 1e9 : (GC.stat[:time] || 0) / 1e3 }
  time_before = time.call
  at_exit do
    next unless Process.pid == pid
    after = GC.stat
    spent = time.call - time_before
    difference = ->(name) { after[name] - before[name] if after[name] && before[name] }
    allocated = difference[:total_allocated_objects]
    lines = [
      ["gc_runs", difference[:count], "count"],
      ["gc_minor", difference[:minor_gc_count], "count"],
      ["gc_major", difference[:major_gc_count], "count"],
      ["gc_time", spent, "seconds"],
      ["allocated_objects", allocated, "count"],
      ["freed_objects", difference[:total_freed_objects], "count"],
      ["heap_pages", after[:heap_allocated_pages], "count"],
      ["live_objects", after[:heap_live_slots], "count"]
    ]
    if iterations > 0
      lines << ["allocated_objects_per_iteration", allocated / iterations, "count"] if allocated
      lines << ["gc_time_per_iteration", spent / iterations, "seconds"]
    end
    if defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
      stats = RubyVM::YJIT.runtime_stats
      compiled = stats && (stats[:compiled_iseq_count] || stats["compiled_iseq_count"])
      lines << ["jit_methods", compiled, "count"]
    elsif defined?(RubyVM::MJIT) && RubyVM::MJIT.enabled?
      # Each compiled method is a library of its own, mapped until the end.
      maps = File.foreach("/proc/self/maps").map { |line| line[/_ruby_mjit_p#{pid}u\d+\.so/] }
      lines << ["jit_methods", maps.compact.uniq.size, "count"]
    end
    text = lines.reject { |_, value, _| value.nil? }.map { |l| l.join(" ") }.join("\n")
    out = IO.for_fd(number, "a", autoclose: false)
    out.write(text + "\n")
    out.flush
  rescue StandardError
    # The program's own end is not disturbed.
  end
end.call
