# A number of 300 digits, none of them special.
number = 3**628
i = ARGV[0].to_i
while i > 0
  number.to_s
  i -= 1
end
