# A page whose methods a JIT compiles first; then how many are made in a second.
#
#     page.rb SECONDS
require 'erb'
Item = Struct.new(:name, :price, :tags)
items = (1..40).map { |i| Item.new("item #{i}", i * 3.5, %w[a b c].take(i % 4)) }
source = <<PAGE
<% items.each_with_index do |item, index| %>
<tr class="<%= index.odd? ? 'odd' : 'even' %>"><td><%= item.name %></td>
<td><%= item.price %></td><td><% item.tags.each do |tag| %><i><%= tag %></i><% end %></td></tr>
<% end %>
PAGE
page = Object.new
ERB.new(source).def_method(page.singleton_class, 'render(items)')
500.times { page.render(items) }
RubyVM::MJIT.pause(wait: true)
clock = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
began = clock.call
count = 0
until (spent = clock.call - began) > Float(ARGV[0])
  20.times { page.render(items) }
  count += 20
end
puts "pages/s=#{(count / spent).round(1)}"
