# A Rails application in one file: one page with a list of forty items in a layout, as HTML.
require "rails"
require "action_controller/railtie"

class Application < Rails::Application
  config.eager_load = false
  config.logger = Logger.new(nil)
  config.secret_key_base = "of an example"
  config.hosts.clear
  config.root = __dir__
  routes.append { root to: "items#index" }
end

class ItemsController < ActionController::Base
  Item = Struct.new(:name, :price, :tags)
  ITEMS = (1..40).map { |i| Item.new("item #{i} <b>", i * 3.5, %w[a b c].take(i % 4)) }
  PAGE = <<~ERB
    <table><% items.each do |item| %>
      <tr><td><%= item.name %></td><td><%= number_to_currency(item.price) %></td>
        <td><%= safe_join(item.tags.map { |tag| tag.upcase }, ", ") %></td></tr>
    <% end %></table>
  ERB

  def index
    render inline: PAGE, locals: { items: ITEMS }
  end
end

Application.initialize!
Application
