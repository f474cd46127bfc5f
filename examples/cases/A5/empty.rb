i = 0
while i < 20_000_000
  i += 1
end
