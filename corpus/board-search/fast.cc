// Plays out moves on a large board: each candidate move is tried on a copy of it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

constexpr int SIDE = 1024;

struct Board {
    uint8_t cell[SIDE * SIDE];

    // Puts a stone and flips its neighbours; what that is worth around there.
    int play(int x, int y)
    {
        int worth = 0;
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                uint8_t &c = cell[(y + dy) * SIDE + x + dx];
                c ^= uint8_t(1 + (dx & dy));
                worth += c;
            }
        return worth;
    }
};

class Player {
public:
    Player() : now_(new Board), trial_(new Board)
    {
        for (int i = 0; i < SIDE * SIDE; i++)
            now_->cell[i] = uint8_t(i * 2654435761u >> 30);
    }
    ~Player()
    {
        delete now_;
        delete trial_;
    }

    int best_move(const std::vector<int> &moves)
    {
        int best = -1, at = 0;
        for (int move : moves) {
            // A move changes five rows: only they are copied.
            size_t rows = size_t(move / SIDE - 2) * SIDE;
            std::memcpy(trial_->cell + rows, now_->cell + rows, 5 * SIDE);
            int worth = trial_->play(move % SIDE, move / SIDE);
            if (worth > best) {
                best = worth;
                at = move;
            }
        }
        now_->play(at % SIDE, at / SIDE);
        return best;
    }

private:
    Board *now_, *trial_;
};

int main(int argc, char **argv)
{
    int turns = argc > 1 ? std::atoi(argv[1]) : 10;
    Player player;
    uint32_t state = 1;
    long sum = 0;
    for (int t = 0; t < turns; t++) {
        std::vector<int> moves(40);
        for (int &move : moves) {
            state = state * 1664525 + 1013904223;
            move = int(2 + (state >> 8) % (SIDE - 4)) * SIDE + int(2 + (state >> 20) % (SIDE - 4));
        }
        sum = sum * 3 + player.best_move(moves);
    }
    std::printf("%ld\n", sum);
}
