//! The types of the model as their source has them: fields with JSON name, type, unit and meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::{Attribute, Expr, Fields, Item, Lit, Meta, Type};

/// One field of a JSON object.
struct Field {
    name: String,
    ty: String,
    unit: &'static str,
    meaning: String,
    /// Names of model types that it refers to.
    refers_to: Vec<String>,
}

/// What a type is in JSON.
enum Shape {
    Object(Vec<Field>),
    /// Text of the possible values, one a line.
    Choice(Vec<(String, String)>, Vec<String>),
}

struct TypeDoc {
    meaning: String,
    shape: Shape,
}

/// All types of the model by name.
pub struct Types(BTreeMap<String, TypeDoc>);

impl Types {
    /// Parses all source files of a directory.
    pub fn parse(directory: &Path) -> Self {
        let mut items = Vec::new();
        let entries = fs::read_dir(directory).expect("the model's sources");
        for entry in entries {
            let path = entry.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                items.extend(syn::parse_file(&text).expect("Rust").items);
            }
        }
        let mut types = BTreeMap::new();
        let mut flattened = Vec::new();
        for item in items {
            let (name, attrs, shape) = match item {
                Item::Struct(item) => {
                    let Fields::Named(fields) = item.fields else {
                        continue;
                    };
                    let name = item.ident.to_string();
                    let mut list = Vec::new();
                    for field in fields.named {
                        let serde = Serde::of(&field.attrs);
                        if serde.flatten {
                            if let Some(inner) = model_types(&field.ty).pop() {
                                flattened.push((name.clone(), inner));
                            }
                            continue;
                        }
                        if serde.skip {
                            continue;
                        }
                        let ident = field.ident.expect("named").to_string();
                        let meaning = doc(&field.attrs);
                        assert!(!meaning.is_empty(), "{name}.{ident} has no doc comment");
                        list.push(Field {
                            ty: json_type(&field.ty, serde.may_be_absent),
                            unit: unit(&ident, &json_type(&field.ty, false), &meaning),
                            name: serde.rename.unwrap_or(ident),
                            meaning,
                            refers_to: model_types(&field.ty),
                        });
                    }
                    (name, item.attrs, Shape::Object(list))
                }
                Item::Enum(item) => {
                    let serde = Serde::of(&item.attrs);
                    let mut refers_to = Vec::new();
                    let mut choices = Vec::new();
                    for variant in &item.variants {
                        let own = Serde::of(&variant.attrs);
                        let tag = own
                            .rename
                            .unwrap_or_else(|| serde.renamed(&variant.ident.to_string()));
                        for field in &variant.fields {
                            refers_to.extend(model_types(&field.ty));
                        }
                        let value = choice(&tag, &variant.fields, serde.untagged);
                        choices.push((value, doc(&variant.attrs)));
                    }
                    let name = item.ident.to_string();
                    (name, item.attrs, Shape::Choice(choices, refers_to))
                }
                _ => continue,
            };
            let meaning = doc(&attrs);
            types.insert(name, TypeDoc { meaning, shape });
        }
        for (outer, inner) in flattened {
            let fields = match types.get(&inner).map(|one| &one.shape) {
                Some(Shape::Object(fields)) => fields.iter().map(Field::copy).collect::<Vec<_>>(),
                _ => continue,
            };
            if let Some(Shape::Object(list)) = types.get_mut(&outer).map(|one| &mut one.shape) {
                list.splice(0..0, fields);
            }
        }
        Self(types)
    }

    /// JSON names of a type's fields.
    pub fn field_names(&self, name: &str) -> Vec<String> {
        match &self.0[name].shape {
            Shape::Object(fields) => fields.iter().map(|field| field.name.clone()).collect(),
            Shape::Choice(..) => Vec::new(),
        }
    }

    /// Types that these refer to, without themselves, by name.
    pub fn reachable_from(&self, roots: &[&str]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open: Vec<String> = roots.iter().map(|&name| name.to_owned()).collect();
        while let Some(name) = open.pop() {
            let next = match self.0.get(&name).map(|one| &one.shape) {
                Some(Shape::Object(fields)) => fields
                    .iter()
                    .flat_map(|one| one.refers_to.clone())
                    .collect(),
                Some(Shape::Choice(_, refers_to)) => refers_to.clone(),
                None => Vec::new(),
            };
            for one in next {
                if self.0.contains_key(&one) && found.insert(one.clone()) {
                    open.push(one);
                }
            }
        }
        found.retain(|name| !roots.contains(&name.as_str()));
        found
    }

    /// The description of a type as Markdown. `documents` are kind, root type and verbs of each.
    pub fn section(&self, name: &str, documents: &[(&str, &str, &str)]) -> String {
        let Some(one) = self.0.get(name) else {
            panic!("the model has no type {name}");
        };
        let mut text = format!("{}\n\n", one.meaning);
        match &one.shape {
            Shape::Object(fields) => {
                text.push_str("| field | type | unit | meaning |\n|---|---|---|---|\n");
                for field in fields {
                    let mut ty = field.ty.clone();
                    for other in &field.refers_to {
                        let kind = documents.iter().find(|(_, root, _)| root == other);
                        let target = kind.map_or(other.to_lowercase(), |one| one.0.to_owned());
                        if self.0.contains_key(other) {
                            let link = format!("[{other}](#{target})");
                            ty = ty.replace(&format!("<{other}>"), &link);
                        }
                    }
                    let ty = ty.replace(['<', '>'], "");
                    text.push_str(&format!(
                        "| `{}` | {ty} | {} | {} |\n",
                        field.name, field.unit, field.meaning
                    ));
                }
            }
            Shape::Choice(choices, _) => {
                text.push_str("| value | meaning |\n|---|---|\n");
                for (value, meaning) in choices {
                    text.push_str(&format!("| `{value}` | {meaning} |\n"));
                }
            }
        }
        text
    }
}

impl Field {
    fn copy(&self) -> Self {
        Self {
            name: self.name.clone(),
            ty: self.ty.clone(),
            unit: self.unit,
            meaning: self.meaning.clone(),
            refers_to: self.refers_to.clone(),
        }
    }
}

/// The attributes of serde that change what is written.
#[derive(Default)]
struct Serde {
    rename: Option<String>,
    rename_all: Option<String>,
    flatten: bool,
    untagged: bool,
    skip: bool,
    may_be_absent: bool,
}

impl Serde {
    fn of(attrs: &[Attribute]) -> Self {
        let mut found = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
            attr.parse_nested_meta(|meta| {
                let key = meta.path.get_ident().expect("an identifier").to_string();
                let value = match meta.value() {
                    Ok(value) => match value.parse::<Expr>()? {
                        Expr::Lit(lit) => match lit.lit {
                            Lit::Str(text) => Some(text.value()),
                            _ => None,
                        },
                        _ => None,
                    },
                    Err(_) => None,
                };
                match key.as_str() {
                    "rename" => found.rename = value,
                    "rename_all" => found.rename_all = value,
                    "flatten" => found.flatten = true,
                    "untagged" => found.untagged = true,
                    "skip" => found.skip = true,
                    "skip_serializing_if" => found.may_be_absent = true,
                    // These change what is read, or are named in `json_type`.
                    "default" | "alias" | "from" | "into" => {}
                    other => panic!("serde({other}) is not known to the generator of docs/json.md"),
                }
                Ok(())
            })
            .expect("serde attributes");
        }
        found
    }

    /// A variant's name as `rename_all` writes it.
    fn renamed(&self, name: &str) -> String {
        let separator = match self.rename_all.as_deref() {
            Some("snake_case") => '_',
            Some("kebab-case") => '-',
            None => return name.to_owned(),
            Some("lowercase") => return name.to_lowercase(),
            Some(other) => panic!("rename_all = {other} is not known to the generator"),
        };
        let mut text = String::new();
        for (index, c) in name.chars().enumerate() {
            if c.is_uppercase() && index > 0 {
                text.push(separator);
            }
            text.extend(c.to_lowercase());
        }
        text
    }
}

/// The doc comment as one paragraph.
fn doc(attrs: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attr.meta
            && let Expr::Lit(lit) = &pair.value
            && let Lit::Str(text) = &lit.lit
        {
            lines.push(text.value().trim().to_owned());
        }
    }
    lines.retain(|line| !line.is_empty());
    let text = lines.join(" ").replace('|', "\\|");
    // Links and paths of rustdoc lead nowhere here.
    let text = text
        .replace("[`", "`")
        .replace("`]", "`")
        .replace("`None`", "`null`");
    let parts = text
        .split('`')
        .enumerate()
        .map(|(index, part)| match index % 2 {
            1 => part.rsplit("::").next().unwrap_or(part).to_owned(),
            _ => part.to_owned(),
        });
    parts.collect::<Vec<_>>().join("`")
}

/// What a type is in JSON; model types in angle brackets.
fn json_type(ty: &Type, may_be_absent: bool) -> String {
    match ty {
        Type::Tuple(tuple) => {
            let parts: Vec<String> = tuple
                .elems
                .iter()
                .map(|one| json_type(one, false))
                .collect();
            format!("array [{}]", parts.join(", "))
        }
        Type::Array(array) => format!("array of {}", json_type(&array.elem, false)),
        Type::Path(path) => {
            let last = path.path.segments.last().expect("a path");
            let arguments = arguments(ty);
            let inner = |index: usize| json_type(&arguments[index], false);
            let text = match last.ident.to_string().as_str() {
                "Option" if may_be_absent => return format!("{}, absent if unknown", inner(0)),
                "Option" => return format!("{} or null", inner(0)),
                "Vec" => format!("array of {}", inner(0)),
                "Box" => inner(0),
                "BTreeMap" => format!("object of {} by name", inner(1)),
                "String" => "string".to_owned(),
                "bool" => "boolean".to_owned(),
                "f64" => "number".to_owned(),
                "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => "integer".to_owned(),
                "InstructionCount" => "array [address, count]".to_owned(),
                other => format!("<{other}>"),
            };
            match may_be_absent {
                true => format!("{text}, absent if empty"),
                false => text,
            }
        }
        _ => panic!("a type that the generator of docs/json.md does not know"),
    }
}

fn arguments(ty: &Type) -> Vec<Type> {
    let Type::Path(path) = ty else {
        return Vec::new();
    };
    let last = path.path.segments.last().expect("a path");
    match &last.arguments {
        syn::PathArguments::AngleBracketed(list) => (list.args.iter())
            .filter_map(|one| match one {
                syn::GenericArgument::Type(ty) => Some(ty.clone()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Names of types with a capital that a type is made of.
fn model_types(ty: &Type) -> Vec<String> {
    if let Type::Tuple(tuple) = ty {
        return tuple.elems.iter().flat_map(model_types).collect();
    }
    let Type::Path(path) = ty else {
        return Vec::new();
    };
    let name = path.path.segments.last().expect("a path").ident.to_string();
    let inner: Vec<String> = arguments(ty).iter().flat_map(model_types).collect();
    let known = [
        "Option",
        "Vec",
        "Box",
        "BTreeMap",
        "String",
        "InstructionCount",
    ];
    let own = name.starts_with(char::is_uppercase) && !known.contains(&name.as_str());
    own.then_some(name).into_iter().chain(inner).collect()
}

/// A value of an enum as JSON.
fn choice(tag: &str, fields: &Fields, untagged: bool) -> String {
    let plain = |ty: &Type| json_type(ty, false).replace(['<', '>'], "");
    match fields {
        Fields::Unit => format!("\"{tag}\""),
        Fields::Unnamed(list) => {
            let types: Vec<String> = list.unnamed.iter().map(|one| plain(&one.ty)).collect();
            let content = types.join(", ");
            match untagged {
                true => content,
                false => format!("{{\"{tag}\": {content}}}"),
            }
        }
        Fields::Named(list) => {
            let fields: Vec<String> = (list.named.iter())
                .map(|one| {
                    format!(
                        "\"{}\": {}",
                        one.ident.as_ref().expect("named"),
                        plain(&one.ty)
                    )
                })
                .collect();
            format!("{{\"{tag}\": {{{}}}}}", fields.join(", "))
        }
    }
}

/// The unit of a number, from the field's name, else from its doc comment.
fn unit(name: &str, ty: &str, meaning: &str) -> &'static str {
    let numeric = ["number", "integer", "Estimate"]
        .iter()
        .any(|one| ty.contains(one));
    if !numeric {
        return "";
    }
    let ends = |suffix: &str| name == suffix || name.ends_with(&format!("_{suffix}"));
    match name {
        _ if ends("bytes_per_second") => "bytes/s",
        _ if ends("seconds") => "s",
        _ if ends("bytes") || name == "max_rss" => "bytes",
        _ if ends("hz") || name == "frequency_range_hz" => "Hz",
        _ if ends("cycles") => "cycles",
        _ if ends("share") || name == "self" => "0…1",
        _ if ends("ratio") || name == "speedup" => "ratio",
        _ if meaning.contains(" seconds") => "s",
        _ if meaning.starts_with("Share") => "0…1",
        _ if meaning.contains("this share") || meaning.contains("a share") => "0…1",
        _ if meaning.contains("÷") => "ratio",
        _ => "",
    }
}
