//! Walks a scene of shared meshes and collects what is visible.
use std::sync::Arc;

struct Mesh {
    vertices: u32,
    radius: f32,
}

struct Node {
    mesh: Arc<Mesh>,
    x: f32,
    y: f32,
}

struct Scene {
    nodes: Vec<Node>,
}

struct Visible {
    mesh: Arc<Mesh>,
    distance: f32,
}

impl Scene {
    /// What of the scene is near enough to be drawn from here.
    fn visible(&self, x: f32, y: f32, out: &mut Vec<Visible>) {
        out.clear();
        for node in &self.nodes {
            let mesh = Arc::clone(&node.mesh);
            let (dx, dy) = (node.x - x, node.y - y);
            let distance = dx * dx + dy * dy - mesh.radius;
            if distance < 400.0 {
                out.push(Visible { mesh, distance });
            }
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let nodes = args.next().unwrap_or(1000);
    let frames = args.next().unwrap_or(100);
    let meshes: Vec<Arc<Mesh>> =
        (0..40).map(|i| Arc::new(Mesh { vertices: 100 + i * 17, radius: 1.0 + (i % 5) as f32 })).collect();
    let scene = Scene {
        nodes: (0..nodes)
            .map(|i| Node {
                mesh: Arc::clone(&meshes[i * 7 % meshes.len()]),
                x: (i % 100) as f32,
                y: (i / 100) as f32,
            })
            .collect(),
    };
    let mut visible = Vec::new();
    let (mut vertices, mut nearest) = (0u64, 0f64);
    for frame in 0..frames {
        scene.visible(frame as f32 * 0.1 % 100.0, 5.0, &mut visible);
        vertices += visible.iter().map(|v| u64::from(v.mesh.vertices)).sum::<u64>();
        nearest += visible.iter().map(|v| f64::from(v.distance)).fold(f64::MAX, f64::min);
    }
    println!("{vertices} vertices, {nearest:.3}");
}
