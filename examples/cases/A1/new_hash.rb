# The author's line: what one object costs, without garbage collection.
GC.disable;i=ARGV[0].to_i;while (i-=1)>0;Hash.new;end
