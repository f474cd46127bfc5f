# The literals without garbage collection: all stay in memory.
GC.disable
load File.join(__dir__, "literal.rb")
