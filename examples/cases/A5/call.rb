def nothing; end

i = 0
while i < 20_000_000
  nothing
  i += 1
end
