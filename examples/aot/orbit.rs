//! Runs the simulation of orbit.py: rustc -O orbit.rs -C link-arg=libraries/orbit.so
//! A C function of orbit.h is a line of the extern block.
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr;

#[repr(C)]
struct Orbit {
    _private: [u8; 0],
}

extern "C" {
    fn orbit_create(options: *const c_void, instance: *mut *mut Orbit) -> c_int;
    fn orbit_destroy(instance: *mut Orbit);
    fn orbit_error_message() -> *const c_char;
    fn orbit_simulate(
        instance: *mut Orbit, dt: *const f64, energy: *mut f64, places: *mut [f64; 2],
    ) -> c_int;
}

/// An instance, destroyed with its owner. It may go to another thread, and is used by one at a time.
struct Simulation(*mut Orbit);

unsafe impl Send for Simulation {}

impl Drop for Simulation {
    fn drop(&mut self) {
        unsafe { orbit_destroy(self.0) }
    }
}

fn check(code: c_int) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    Err(unsafe { CStr::from_ptr(orbit_error_message()) }.to_string_lossy().into_owned())
}

impl Simulation {
    fn new() -> Result<Self, String> {
        let mut instance = ptr::null_mut();
        check(unsafe { orbit_create(ptr::null(), &mut instance) })?;
        Ok(Simulation(instance))
    }

    /// A thousand steps: the energy at the end.
    fn simulate(&mut self, dt: f64, places: &mut [[f64; 2]; 1000]) -> Result<f64, String> {
        let mut energy = 0.0;
        check(unsafe { orbit_simulate(self.0, &dt, &mut energy, places.as_mut_ptr()) })?;
        Ok(energy)
    }
}

fn main() -> Result<(), String> {
    let mut places = [[0.0; 2]; 1000];
    let mut energy = 0.0;
    let mut orbit = Simulation::new()?;
    for _ in 0..20 {
        energy = orbit.simulate(0.001, &mut places)?;
    }
    println!("{:.6} {:.6} energy {:.9}", places[999][0], places[999][1], energy);
    Ok(())
}
