#include "quarry/courier/shipping_figures.h"

#include <unistd.h>

namespace quarry::courier {

std::string_view ShippingFigures::last_error() const {
  const std::string_view text(error.data(), error.size());
  return text.substr(0, text.find('\0'));
}

std::optional<ShippingFigures> read_shipping_figures(int fd) {
  ShippingFigures figures;
  const ssize_t size = ::pread(fd, &figures, sizeof figures, 0);
  if (size != sizeof figures || figures.layout != ShippingFigures::kLayout) return std::nullopt;
  return figures;
}

}  // namespace quarry::courier
