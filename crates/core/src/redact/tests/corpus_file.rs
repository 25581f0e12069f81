//! The files of the corpus: a `%% name` before each sample, its secrets between `⟦` and `⟧`. Every `¦` is left out when a sample is
//! read, so that no scanner takes the source itself for a leak.

/// One text, and the secrets in it.
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) secrets: Vec<String>,
}

pub(crate) fn samples(file: &str) -> Vec<Sample> {
    let file = file.replace('¦', "");
    let pieces = file.split("%% ").skip(1);
    pieces
        .filter_map(|piece| piece.split_once('\n'))
        .map(|(name, marked)| sample(name, marked.trim_end_matches('\n')))
        .collect()
}

fn sample(name: &str, marked: &str) -> Sample {
    let secrets = marked
        .split('⟦')
        .skip(1)
        .filter_map(|rest| rest.split_once('⟧'))
        .map(|(secret, _)| secret.to_owned());
    Sample {
        name: name.to_owned(),
        secrets: secrets.collect(),
        text: marked.replace(['⟦', '⟧'], ""),
    }
}
