// Means of each question of a survey, whose answers are a row for each person.
#include <cstdio>
#include <cstdlib>
#include <vector>

typedef std::vector<std::vector<double>> Survey;

static std::vector<double> means(const Survey &survey, size_t questions)
{
    std::vector<double> mean(questions);
    for (size_t question = 0; question < questions; question++) {
        double sum = 0;
        for (const auto &answers : survey)
            sum += answers[question];
        mean[question] = sum / survey.size();
    }
    return mean;
}

int main(int argc, char **argv)
{
    size_t people = argc > 1 ? atoi(argv[1]) : 4000, questions = 600;
    int rounds = argc > 2 ? atoi(argv[2]) : 40;
    Survey survey(people, std::vector<double>(questions));
    unsigned state = 23;
    for (auto &answers : survey)
        for (double &answer : answers) {
            state = state * 1103515245 + 12345;
            answer = (state >> 8) / 65536.0;
        }
    double total = 0;
    for (int round = 0; round < rounds; round++) {
        survey[round][round] += 1;
        for (double mean : means(survey, questions))
            total += mean;
    }
    printf("%.3f\n", total);
}
