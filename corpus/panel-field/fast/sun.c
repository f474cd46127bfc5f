#include "sun.h"

#include <math.h>

static const double TURN = 6.283185307179586;

struct sun sun_at(const struct place *place, int minute)
{
    double year = TURN * minute / (365.0 * 1440);
    double declination = 0.006918 - 0.399912 * cos(year) + 0.070257 * sin(year)
                         - 0.006758 * cos(2 * year) + 0.000907 * sin(2 * year);
    double late = 0.000075 + 0.001868 * cos(year) - 0.032077 * sin(year);
    double hour = TURN * (minute % 1440) / 1440.0 + late + place->longitude - TURN / 2;
    double sine = sin(place->latitude) * sin(declination)
                  + cos(place->latitude) * cos(declination) * cos(hour);
    struct sun sun = {.altitude = asin(sine)};
    sun.azimuth = TURN / 2 + atan2(sin(hour), cos(hour) * sin(place->latitude) - tan(declination) * cos(place->latitude));
    if (sine > 0.01) {
        double mass = 1 / (sine + 0.15 * pow(sun.altitude * 57.3 + 3.885, -1.253));
        sun.strength = 1361 * pow(0.7, pow(mass, 0.678));
    }
    return sun;
}

double plane_light(const struct sun *sun, double tilt, double facing)
{
    double face = sin(sun->altitude) * cos(tilt)
                  + cos(sun->altitude) * sin(tilt) * cos(sun->azimuth - facing);
    double sky = sun->strength * 0.1 * (1 + cos(tilt)) / 2;
    if (face <= 0)
        return sky;
    /* Glass reflects what comes in flat. */
    double bent = sin(acos(face)) / 1.526;
    double passed = 1 - 0.5 * pow(1 - face, 4.6) - 0.04 * (1 + bent * bent);
    return sun->strength * face * passed + sky;
}
