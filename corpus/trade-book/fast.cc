// Prices trades in two threads, keeps the positions, and journals every trade to disk.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

struct Trade {
    uint32_t instrument, quantity;
    uint64_t price;
};

class Book {
public:
    explicit Book(int journal) : positions_(256), journal_(journal) {}

    void record(const Trade &trade)
    {
        std::lock_guard<std::mutex> hold(mutex_);
        positions_[trade.instrument] += trade.quantity * trade.price;
        unwritten_.push_back(trade);
        if (unwritten_.size() == journal_at)
            enough_.notify_one();
    }

    void close()
    {
        std::lock_guard<std::mutex> hold(mutex_);
        closed_ = true;
        enough_.notify_one();
    }

    /// Writes trades to disk as they come, until the book is closed.
    void keep_journal()
    {
        std::unique_lock<std::mutex> hold(mutex_);
        while (true) {
            enough_.wait(hold, [this] { return unwritten_.size() >= journal_at || closed_; });
            if (unwritten_.empty())
                return;
            std::vector<Trade> trades;
            trades.swap(unwritten_);
            hold.unlock();
            write_out(trades);
            hold.lock();
        }
    }

    uint64_t checksum() const
    {
        uint64_t sum = 0;
        for (uint64_t position : positions_)
            sum = sum * 31 + position;
        return sum;
    }

private:
    static constexpr size_t journal_at = 6000;

    void write_out(const std::vector<Trade> &trades)
    {
        const size_t size = trades.size() * sizeof(Trade);
        if (write(journal_, trades.data(), size) != ssize_t(size) || fdatasync(journal_) != 0) {
            std::perror("journal");
            std::exit(1);
        }
    }

    std::mutex mutex_;
    std::condition_variable enough_;
    std::vector<uint64_t> positions_;
    std::vector<Trade> unwritten_;
    bool closed_ = false;
    int journal_;
};

// Steps of a binomial tree: the price of an option.
static uint64_t price_of(uint32_t spot)
{
    double value[33];
    for (int i = 0; i <= 32; i++)
        value[i] = spot % 1000 + i * 3.0 > 900 ? spot % 1000 + i * 3.0 - 900 : 0;
    for (int step = 32; step > 0; step--)
        for (int i = 0; i < step; i++)
            value[i] = 0.998 * (0.49 * value[i] + 0.51 * value[i + 1]);
    return uint64_t(value[0] * 1000) + 1;
}

static void trade(Book &book, unsigned trades, uint32_t state)
{
    for (unsigned t = 0; t < trades; t++) {
        state = state * 1664525 + 1013904223;
        book.record({state >> 24, state >> 16 & 255, price_of(state >> 4)});
    }
}

int main(int argc, char **argv)
{
    const unsigned trades = argc > 1 ? unsigned(std::atoi(argv[1])) : 100000;
    std::string path = std::string(argc > 2 ? argv[2] : "/var/tmp") + "/trade-book-XXXXXX";
    const int journal = mkstemp(path.data());
    if (journal < 0) {
        std::perror(path.c_str());
        return 1;
    }
    unlink(path.c_str());
    Book book(journal);
    std::thread keeper(&Book::keep_journal, &book);
    std::thread first(trade, std::ref(book), trades, 1), second(trade, std::ref(book), trades, 2);
    first.join();
    second.join();
    book.close();
    keeper.join();
    std::printf("%016lx\n", (unsigned long)book.checksum());
}
