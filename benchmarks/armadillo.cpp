// Armadillo's gmm_full from a given start, stopping by the same tolerance as everyone else.

#include <omp.h>
#include <armadillo>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>

namespace {

// Armadillo's own tolerance is fixed at rounding. It prints the mean log-likelihood of every iteration, so one
// iteration is asked for at a time and that line is read: no further pass over the data is needed.
double printed_log_likelihood(const std::string& text) {
    const std::string label = "avg_log_p: ";
    const auto place = text.rfind(label);
    return place == std::string::npos ? std::nan("") : std::strtod(text.c_str() + place + label.size(), nullptr);
}

}  // namespace

// Rows X (n, d), weights (k), means (k, d) and covariances (k, d, d), C order; the last three are replaced by what was
// learned. Returns the number of iterations, or -1 if Armadillo says that learning failed.
extern "C" int learn(double* X, long long n, int d, int k, double* weights, double* means, double* covariances,
                     int max_iter, double tol, double variance_floor, int n_threads, double* seconds) {
    omp_set_num_threads(n_threads);
    const arma::mat rows(X, d, n, false, true);
    arma::gmm_full model;
    model.set_params(arma::mat(means, d, k), arma::cube(covariances, d, d, k), arma::rowvec(weights, k));
    std::ostringstream printed;
    printed.precision(15);
    arma::set_cout_stream(printed);
    const auto began = std::chrono::steady_clock::now();
    double last = -std::numeric_limits<double>::infinity();
    int iterations = 0;
    bool good = true;
    while (good && iterations < max_iter) {
        printed.str("");
        good = model.learn(rows, k, arma::eucl_dist, arma::keep_existing, 0, 1, variance_floor, true);
        ++iterations;
        const double reached = printed_log_likelihood(printed.str());
        if (std::abs(reached - last) < tol) break;
        last = reached;
    }
    *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    arma::set_cout_stream(std::cout);
    if (!good) return -1;
    std::copy(model.hefts.begin(), model.hefts.end(), weights);
    std::copy(model.means.begin(), model.means.end(), means);
    std::copy(model.fcovs.begin(), model.fcovs.end(), covariances);
    return iterations;
}
