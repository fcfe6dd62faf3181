#include "quarry/artifact/hash_name.h"

#include <doctest/doctest.h>

#include <set>
#include <thread>
#include <unordered_set>

#include "quarry/artifact/digest.h"
#include "support.h"

namespace quarry::artifact {
namespace {

const std::string kSha1OfAbc = "a9993e364706816aba3e25717850c26c9cd0d89d";
const std::string kSha3OfAbc = "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532";

TEST_CASE("digests match the published test vectors") {
  CHECK(sha1_hex("abc") == kSha1OfAbc);
  CHECK(sha1_hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(sha1_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  CHECK(sha3_256_hex("abc") == kSha3OfAbc);
  CHECK(sha3_256_hex("") == "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a");
  CHECK(md5_hex("abc") == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(md5_hex("") == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(sha1_hex(std::string(1'000'000, 'a')) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST_CASE("digests interleave, and threads compute them side by side") {
  const auto all_right = [] {
    bool right = true;
    for (int i = 0; i < 200; ++i) {
      right = right && sha1_hex("abc") == kSha1OfAbc && sha3_256_hex("abc") == kSha3OfAbc &&
              md5_hex("abc") == "900150983cd24fb0d6963f7d28e17f72";
    }
    return right;
  };
  bool elsewhere = false;
  std::thread other([&] { elsewhere = all_right(); });
  CHECK(all_right());
  other.join();
  CHECK(elsewhere);
}

TEST_CASE("digests agree with fossil's") {
  if (!test::have_fossil()) return;
  test::Random random;
  INFO("seed ", random.seed());
  const test::TempDir dir;
  const std::string content = random.bytes(10'000);
  dir.write("content", content);
  CHECK(dir.fossil("sha1sum content").starts_with(sha1_hex(content)));
  CHECK(dir.fossil("sha3sum content").starts_with(sha3_256_hex(content)));
  CHECK(dir.fossil("md5sum content").starts_with(md5_hex(content)));
}

TEST_CASE("a name is 40 or 64 lower-case hex digits and nothing else") {
  CHECK(HashName::parse(kSha1OfAbc));
  CHECK(HashName::parse(kSha3OfAbc));
  CHECK_FALSE(HashName::parse(""));
  CHECK_FALSE(HashName::parse(kSha1OfAbc.substr(1)));
  CHECK_FALSE(HashName::parse(kSha1OfAbc + "0"));
  CHECK_FALSE(HashName::parse(kSha3OfAbc.substr(0, 63)));
  CHECK_FALSE(HashName::parse(kSha3OfAbc + "0"));
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_right = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
    for (std::size_t place = 0; place < kSha1OfAbc.size(); ++place) {
      std::string text = kSha1OfAbc;
      text[place] = static_cast<char>(byte);
      CHECK(HashName::parse(text).has_value() == is_right);
    }
  }
}

TEST_CASE("a name has an algorithm, and matches its content") {
  const HashName sha1 = HashName::of(HashAlgorithm::kSha1, "abc");
  const HashName sha3 = HashName::of(HashAlgorithm::kSha3_256, "abc");
  CHECK(sha1.str() == kSha1OfAbc);
  CHECK(sha3.str() == kSha3OfAbc);
  CHECK(sha1.algorithm() == HashAlgorithm::kSha1);
  CHECK(sha3.algorithm() == HashAlgorithm::kSha3_256);
  CHECK(sha1.names("abc"));
  CHECK(sha3.names("abc"));
  CHECK_FALSE(sha1.names("abd"));
  CHECK_FALSE(sha3.names(""));
}

TEST_CASE("names are ordered and hashed by their digits") {
  const HashName sha1 = HashName::of(HashAlgorithm::kSha1, "abc");
  const HashName sha3 = HashName::of(HashAlgorithm::kSha3_256, "abc");
  CHECK(*HashName::parse(kSha1OfAbc) == sha1);
  CHECK(sha1 != sha3);
  CHECK((sha3 < sha1) == (kSha3OfAbc < kSha1OfAbc));
  CHECK(std::set<HashName>{sha1, sha3, sha1}.size() == 2);
  CHECK(std::unordered_set<HashName>{sha1, sha3, sha1}.size() == 2);
}

}  // namespace
}  // namespace quarry::artifact
