# A page made by eight helpers, all of them called as often as pages are made. A JIT gains by each of the six that
# loop; the other two only put many small strings together, which is long to compile and gains little.
#
#     page.rb PAGES
#
# Prints the number of bytes that were made.
module Helpers
  6.times do |i|
    class_eval <<~RUBY, __FILE__, __LINE__ + 1
      def cell_#{i}(n)
        i = 0
        sum = n
        while i < 2000
          sum += i & #{i + 1}
          sum -= 3 if sum > 100
          i += 1
        end
        sum
      end
    RUBY
  end
  %w[legend footer].each do |name|
    lines = (0...40).map { |i| "out << '<i>' << (n > #{i} ? 'a#{i}' : 'b#{i}') if n & #{1 << i % 16} != 0" }
    class_eval "def #{name}(n)\n out = +''\n#{lines.join("\n")}\n out\nend"
  end
end
page = Object.new.extend(Helpers)
bytes = 0
Integer(ARGV[0]).times do |n|
  6.times { |i| bytes += page.send(:"cell_#{i}", n).to_s.bytesize }
  bytes += page.legend(n % 7).bytesize + page.footer(n % 5).bytesize
end
puts "bytes=#{bytes}"
