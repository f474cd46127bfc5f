# Sends requests to a Rack application in its own process and reports what one costs.
#
# GENBA_RACK_APP: a config.ru, or a Ruby file whose last value is an application.
# GENBA_REQUESTS, GENBA_REQUESTS_WARMUP: how many, and how many before that are not counted.
# GENBA_REQUEST_PATHS: paths, separated by commas, taken in turn.
require "rack"
begin
  require "rack/mock"
rescue LoadError
  require "rack/mock_request"
end

app_file = File.expand_path(ENV.fetch("GENBA_RACK_APP"))
requests = Integer(ENV.fetch("GENBA_REQUESTS", "1000"))
warmup = Integer(ENV.fetch("GENBA_REQUESTS_WARMUP", "100"))
paths = ENV.fetch("GENBA_REQUEST_PATHS", "/").split(",")

Dir.chdir(File.dirname(app_file))
app = if app_file.end_with?(".ru")
  built = Rack::Builder.parse_file(app_file)
  built.is_a?(Array) ? built.first : built
else
  eval(File.read(app_file), TOPLEVEL_BINDING, app_file)
end
abort "genba: #{app_file} is no Rack application: it does not answer to `call`" unless app.respond_to?(:call)

send_one = lambda do |number|
  path = paths[number % paths.size]
  status, _headers, body = app.call(Rack::MockRequest.env_for(path))
  body.each { |part| part }
  body.close if body.respond_to?(:close)
  # A page of an error would be quick.
  abort "genba: #{path} answered #{status}" if status.to_i >= 400
end

warmup.times(&send_one)
clock = ->(id) { Process.clock_gettime(id) }
gc_time = -> { GC.respond_to?(:total_time) ? GC.total_time / 1e9 : (GC.stat[:time] || 0) / 1e3 }
gc = GC.stat
gc_before = gc_time.call
times = Process.times
wall = clock[Process::CLOCK_MONOTONIC]
cpu = clock[Process::CLOCK_PROCESS_CPUTIME_ID]
requests.times(&send_one)
cpu = clock[Process::CLOCK_PROCESS_CPUTIME_ID] - cpu
wall = clock[Process::CLOCK_MONOTONIC] - wall
now = Process.times
after = GC.stat
each = requests.to_f
lines = [
  ["per_request", wall / each, "seconds"],
  ["per_request_cpu", cpu / each, "seconds"],
  ["per_request_user", (now.utime - times.utime) / each, "seconds"],
  ["per_request_system", (now.stime - times.stime) / each, "seconds"],
  ["allocated_objects_per_request", (after[:total_allocated_objects] - gc[:total_allocated_objects]) / each, "count"],
  ["gc_time_per_request", (gc_time.call - gc_before) / each, "seconds"],
  ["gc_runs_in_requests", after[:count] - gc[:count], "count"],
  ["requests_per_second", each / wall, "requests/s"]
]
text = lines.map { |l| l.join(" ") }.join("\n") + "\n"
descriptor = ENV["GENBA_METRICS_FD"]
if descriptor && (File.readlink("/proc/self/fd/#{descriptor}").include?("memfd:genba-metrics") rescue false)
  out = IO.for_fd(descriptor.to_i, "a", autoclose: false)
  out.write(text)
  out.flush
else
  $stderr.write(text)
end
