# A page as Rails makes them: an ERB template with two loops, rendered N times.
#
#     page.rb N
#
# Prints pages a second, and what was made.
require 'erb'
Item = Struct.new(:name, :price, :tags, :stock)
items = (1..40).map { |i| Item.new("item #{i} <b>", i * 3.5, %w[a b c].take(i % 4), i % 7) }
source = <<PAGE
<html><body>
<% items.each_with_index do |item, index| %>
<tr class="<%= index.odd? ? 'odd' : 'even' %>"><td><%= ERB::Util.html_escape(item.name) %></td>
<td><%= format('%.2f', item.price) %></td><td><% item.tags.each do |tag| %><i><%= tag %></i><% end %></td>
<td><%= item.stock.zero? ? 'none' : item.stock %></td></tr>
<% end %>
</body></html>
PAGE
template = ERB.new(source)
page = Object.new
template.def_method(page.singleton_class, 'render(items)')
count = Integer(ARGV[0])
began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
bytes = 0
count.times { bytes += page.render(items).bytesize }
seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
puts "pages/s=#{(count / seconds).round(1)}"
puts "bytes=#{bytes}"
