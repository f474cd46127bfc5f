//! Text that is put together by a string stream: by a string, where only texts, letters and numbers in their default form
//! are put in.

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{descendants, squash};

/// What takes the stream's place. What it does not know how to write does not compile.
const STREAM: &str = "\
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

// Puts texts, letters and numbers together as a std::ostringstream does that no manipulator has changed.
class DirectStream {
public:
    template <typename T> DirectStream &operator<<(const T &value)
    {
        using Plain = std::decay_t<T>;
        if constexpr (std::is_same_v<Plain, char> || std::is_same_v<Plain, signed char> || std::is_same_v<Plain, unsigned char>) {
            text_ += static_cast<char>(value);
        } else if constexpr (std::is_same_v<Plain, bool>) {
            text_ += value ? '1' : '0';
        } else if constexpr (std::is_integral_v<Plain>) {
            char digits[24];
            text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
        } else if constexpr (std::is_same_v<Plain, double> || std::is_same_v<Plain, float>) {
            char digits[32];
            text_.append(digits, static_cast<size_t>(std::snprintf(digits, sizeof digits, \"%g\", static_cast<double>(value))));
        } else {
            static_assert(std::is_convertible_v<const T &, std::string_view>, \"not a text or number\");
            text_.append(std::string_view(value));
        }
        return *this;
    }
    std::string str() const { return text_; }
    void str(const std::string &text) { text_ = text; }
    void clear() {}

private:
    std::string text_;
};

";

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    if file.dialect != Dialect::Cpp {
        return Err("its file is not C++".to_owned());
    }
    subject.without_locale()?;
    if file.source().contains("DirectStream") {
        return Err("its file has a class DirectStream already".to_owned());
    }
    let function = squash(file.text(subject.function));
    if [
        "setw",
        "setprecision",
        "std::hex",
        "std::fixed",
        "setfill",
        "boolalpha",
        ".precision(",
        ".width(",
    ]
    .iter()
    .any(|one| function.contains(one))
    {
        return Err("its stream formats numbers in another form than the default".to_owned());
    }
    let mut edits: Vec<Edit> = (descendants(subject.function).into_iter())
        .filter(|node| node.kind() == "declaration")
        .filter_map(|node| node.child_by_field_name("type"))
        .filter(|kind| {
            matches!(
                file.text(*kind),
                "std::ostringstream" | "std::stringstream" | "ostringstream"
            )
        })
        .map(|kind| Edit::replace(kind.byte_range(), "DirectStream"))
        .collect();
    if edits.is_empty() {
        return Err("its function makes no std::ostringstream".to_owned());
    }
    edits.push(Edit::insert(subject.before_code(), STREAM));
    Ok(vec![Rewrite {
        // A stream refuses all that follows one.
        assumes: vec!["no null pointer is put in as a text".to_owned()],
        ..subject.rewrite(
            "put the text together in a string instead of a stream",
            edits,
        )
    }])
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "costly-conversion";

    #[test]
    fn plain_stream_is_a_string() {
        let text = "#include <sstream>\n\nstd::string f(int n) {\n    std::ostringstream out;\n    out << n << ';';\n    return out.str();\n}\n";
        assert!(rewritten(CAUSE, "a.cc", text, 5).contains("    DirectStream out;\n"));
        refused(CAUSE, "a.cc", &text.replace("<< n", "<< std::hex << n"), 5);
        let grouped = format!("{text}\nvoid g() {{ std::locale::global(std::locale(\"\")); }}\n");
        refused(CAUSE, "a.cc", &grouped, 5);
    }
}
