# A method that calls super, among other things that methods do. What MJIT makes of it is looked at.
class Base
  def render(a, b) = "#{a}:#{b}"
end

class Page < Base
  def initialize
    @items = (1..10).to_a
    @sum = 0
  end

  def render(a, b)
    @sum += a
    @items[a % 10] = b if a > 3
    text = super(a, b)
    text = text + @items[b % 10].to_s unless @sum == 0
    text.size > 3 ? text : text * 2
  end
end

page = Page.new
20_000.times { |i| page.render(i % 7, i % 11) }
