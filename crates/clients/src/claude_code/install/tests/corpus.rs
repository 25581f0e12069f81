//! The corpus times every plan.

use super::*;

#[test]
fn every_file_of_the_corpus_survives_every_plan() {
    let files = corpus(is_foreign);
    assert!(files.len() >= 40, "{}", files.len());
    for (name, text) in files {
        for wanted in all_wanted() {
            println!("{name}: {:?}, {:?}", wanted.entries.first(), wanted.allow);
            check(&text, &wanted);
        }
    }
}

#[test]
fn nothing_wanted_changes_nothing() {
    for (name, text) in corpus(is_foreign) {
        assert_eq!(add(&text, &Wanted::default()), text, "{name}");
        assert_eq!(remove(&text, &[]), text, "{name}");
        assert_eq!((SETTINGS.registered)(&text).unwrap(), [], "{name}");
    }
}

#[test]
fn a_file_is_called_empty_when_nothing_is_left_in_it() {
    for (name, text) in corpus(is_foreign) {
        let is_empty = name.starts_with("blank-") || name.starts_with("empty-object");
        assert_eq!((SETTINGS.remove)(&text, &[]).unwrap().is_empty, is_empty, "{name}");
        let after = (SETTINGS.remove)(&add(&text, &older()), &[]).unwrap();
        assert_eq!(after.is_empty, is_empty, "{name}");
    }
}

/// The client saves its settings with two blanks of indentation; ours must come out of that as well.
#[test]
fn after_the_client_has_rewritten_the_file_only_ours_goes() {
    for (name, text) in
        corpus(|name| name == "client-written.json" || name == "sixty-foreign-hooks.json")
    {
        let rewritten = add(&text, &user());
        assert_eq!(
            remove(&rewritten.replace("  ", "\t"), &[RULE.to_owned()]),
            text.replace("  ", "\t"),
            "{name}"
        );
        let minified = serde_json::to_string(&value(&rewritten)).unwrap();
        let expected = serde_json::to_string(&value(&text)).unwrap();
        assert_eq!(remove(&minified, &[RULE.to_owned()]), expected, "{name}");
        let pretty = serde_json::to_string_pretty(&value(&rewritten)).unwrap();
        let expected = serde_json::to_string_pretty(&value(&text)).unwrap();
        assert_eq!(remove(&pretty, &[RULE.to_owned()]), expected, "{name}");
        assert_eq!(add(&pretty, &user()), pretty, "{name}: still as wanted");
    }
}

/// The user adds entries behind ours, in the same containers, and then we uninstall.
#[test]
fn what_others_append_after_us_stays() {
    let theirs = r#"{"hooks": [{"type": "command", "command": "theirs"}]}"#;
    for (name, text) in corpus(|name| name.starts_with("empty-") || name == "client-written.json") {
        let ours = add(&text, &user());
        let document = parse(&ours).unwrap();
        let hooks = member(&document.root, "hooks").unwrap().value.as_object().unwrap();
        let stop = member(hooks, "Stop").unwrap().value.as_array().unwrap();
        let end = stop.elements.last().unwrap().end();
        let edited = format!("{}, {theirs}{}", &ours[..end], &ours[end..]);
        let left = remove(&edited, &[RULE.to_owned()]);
        assert!(left.contains(theirs) && !left.contains("substrate"), "{name}: {left}");
        let mut expected = value(&text);
        let hooks =
            expected.as_object_mut().unwrap().entry("hooks").or_insert(serde_json::json!({}));
        let stop = hooks.as_object_mut().unwrap().entry("Stop").or_insert(serde_json::json!([]));
        stop.as_array_mut().unwrap().push(value(theirs));
        assert_eq!(value(&left), expected, "{name}");
    }
}
