//! Orders go from a desk to a kitchen thread, whose dishes come back by a channel.
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;

fn cook(order: u32) -> u64 {
    let mut dish = u64::from(order) + 1;
    for _ in 0..200_000 + order % 5 * 150_000 {
        dish = dish.wrapping_mul(6364136223846793005).rotate_left(13) ^ dish >> 5;
    }
    dish
}

fn run_kitchen(orders: &Receiver<u32>, dishes: &Sender<u64>) {
    for order in orders {
        if dishes.send(cook(order)).is_err() {
            return;
        }
    }
}

fn next_dish(dishes: &Receiver<u64>) -> u64 {
    dishes.recv().expect("the kitchen is open")
}

/// Serves guests one after another: the next one orders when the last one has eaten.
fn serve_guests(orders: &Sender<u32>, dishes: &Receiver<u64>, guests: u32) -> u64 {
    let mut sum = 0u64;
    for guest in 0..guests {
        orders.send(guest).expect("the kitchen is open");
        sum = sum.wrapping_mul(31).wrapping_add(next_dish(dishes));
    }
    sum
}

fn main() {
    let guests = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(100);
    let (order_sender, orders) = channel();
    let (dish_sender, dishes) = channel();
    let kitchen = thread::spawn(move || run_kitchen(&orders, &dish_sender));
    println!("{:016x}", serve_guests(&order_sender, &dishes, guests));
    drop(order_sender);
    kitchen.join().unwrap();
}
