#ifndef SUN_H
#define SUN_H

struct place {
    double latitude, longitude; /* radians, east positive */
};

struct sun {
    double altitude, azimuth; /* radians; azimuth from north, clockwise */
    double strength;          /* W/m2 on a plane that faces it */
};

/* The sun as seen from a place, `minute` minutes after the year began (UTC). */
struct sun sun_at(const struct place *place, int minute);

/* Light on a tilted plane, direct and of the sky. */
double plane_light(const struct sun *sun, double tilt, double facing);

#endif
