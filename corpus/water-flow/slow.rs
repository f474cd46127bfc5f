//! Lets water run over a terrain that several systems of a simulation share.
use std::cell::RefCell;
use std::rc::Rc;

struct Terrain {
    width: usize,
    ground: Vec<i32>,
    frozen: bool,
}

struct Water {
    terrain: Rc<RefCell<Terrain>>,
    depth: Rc<RefCell<Vec<i32>>>,
}

impl Water {
    /// Height of the surface: ground and water, or ground alone where all is ice.
    fn surface(&self, at: usize) -> i32 {
        let terrain = self.terrain.borrow();
        if terrain.frozen {
            return terrain.ground[at];
        }
        terrain.ground[at] + self.depth.borrow()[at]
    }

    /// A quarter of what stands higher than the neighbour to the right or below runs there.
    fn step(&self) -> i64 {
        let width = self.terrain.borrow().width;
        let cells = self.depth.borrow().len();
        let mut moved = 0i64;
        for at in 0..cells - width {
            for next in [at + 1, at + width] {
                let fall = self.surface(at) - self.surface(next);
                let flow = (fall / 4).clamp(0, self.depth.borrow()[at]);
                if flow > 0 {
                    self.depth.borrow_mut()[at] -= flow;
                    self.depth.borrow_mut()[next] += flow;
                    moved += i64::from(flow);
                }
            }
        }
        moved
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let width = args.next().unwrap_or(100);
    let mut state = 59u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 22) as i32
    };
    let ground: Vec<i32> = (0..width * width).map(|_| 4 * random()).collect();
    let depth: Vec<i32> = (0..width * width).map(|_| random()).collect();
    let terrain = Rc::new(RefCell::new(Terrain { width, ground, frozen: false }));
    let water = Water { terrain: Rc::clone(&terrain), depth: Rc::new(RefCell::new(depth)) };
    let mut moved = 0i64;
    for step in 0..args.next().unwrap_or(10) {
        moved += water.step();
        terrain.borrow_mut().ground[step % width] += 1;
        water.depth.borrow_mut()[step * 7919 % (width * width)] += 500;
    }
    println!("{moved}");
}
