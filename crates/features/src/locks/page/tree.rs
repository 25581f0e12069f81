//! The tree of the files that are held: folders with one folder in them are one, and each says how many files it has.

use askama::Template;

/// A folder, with what is in it.
#[derive(Default)]
pub(super) struct Folder {
    folders: Vec<(String, Folder)>,
    /// Names, and the rendered rows of the files.
    files: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "locks/page/folder.html")]
struct FolderRow<'a> {
    name: &'a str,
    n: usize,
    inside: String,
}

impl Folder {
    /// Puts the row of a file where its path says.
    pub(super) fn add(&mut self, path: &str, row: String) {
        match path.split_once('/') {
            None => self.files.push((path.to_owned(), row)),
            Some((name, rest)) => {
                let at = self.folders.iter().position(|(known, _)| known == name);
                let at = at.unwrap_or_else(|| {
                    self.folders.push((name.to_owned(), Self::default()));
                    self.folders.len() - 1
                });
                self.folders[at].1.add(rest, row);
            }
        }
    }

    fn n_files(&self) -> usize {
        self.files.len() + self.folders.iter().map(|(_, one)| one.n_files()).sum::<usize>()
    }

    /// The list of what is in it: folders first, each by name.
    pub(super) fn html(&mut self) -> Result<String, askama::Error> {
        self.folders.sort_by(|a, b| a.0.cmp(&b.0));
        self.files.sort_by(|a, b| a.0.cmp(&b.0));
        let mut out = String::new();
        for (name, folder) in &mut self.folders {
            let (mut shown, mut inner) = (format!("{name}/"), folder);
            while inner.files.is_empty() && inner.folders.len() == 1 {
                let (name, only) = &mut inner.folders[0];
                shown.push_str(name);
                shown.push('/');
                inner = only;
            }
            let n = inner.n_files();
            out.push_str(&FolderRow { name: &shown, n, inside: inner.html()? }.render()?);
        }
        for (_, row) in &self.files {
            out.push_str(row);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_nest_and_lonely_ones_are_joined() {
        let mut root = Folder::default();
        for path in ["src/a/b/one.rs", "src/a/b/two.rs", "README.md", "src/c/three.rs"] {
            root.add(path, format!("<li>{path}</li>"));
        }
        let html = root.html().unwrap();
        let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}: {html}"));
        assert!(at("src/") < at("a/b/") && at("a/b/") < at("<li>src/a/b/one.rs"));
        assert!(
            at("<li>src/a/b/two.rs") < at(">c/<") && at("<li>src/c/three.rs") < at("<li>README.md")
        );
        assert!(html.contains("3 held") && html.contains("2 held") && html.contains("1 held"));
    }
}
