//! What machine this is: fingerprint, hazards and the calibration of its instructions.
