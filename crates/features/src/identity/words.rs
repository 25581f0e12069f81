//! The words that names are made of: friendly, and easily told apart.

/// How somebody is.
#[rustfmt::skip]
pub(super) const ADJECTIVES: [&str; 128] = [
    "Able", "Agile", "Amber", "Ample", "Ancient", "Arctic", "Ardent", "Autumn",
    "Azure", "Balmy", "Blithe", "Bold", "Brave", "Breezy", "Bright", "Brisk",
    "Bronze", "Busy", "Calm", "Candid", "Careful", "Cheery", "Chief", "Civic",
    "Classic", "Clean", "Clear", "Clever", "Cobalt", "Cool", "Copper", "Coral",
    "Cosmic", "Cosy", "Crimson", "Crisp", "Curious", "Daring", "Dawn", "Dear",
    "Deft", "Devoted", "Early", "Earnest", "Easy", "Eager", "Elegant", "Epic",
    "Fair", "Famous", "Fancy", "Fearless", "Festive", "Fine", "Firm", "Fleet",
    "Fond", "Frank", "Free", "Fresh", "Frosty", "Gentle", "Giant", "Gifted",
    "Glad", "Gleaming", "Golden", "Good", "Graceful", "Grand", "Great", "Green",
    "Handy", "Happy", "Hardy", "Hearty", "Helpful", "Honest", "Humble", "Indigo",
    "Ivory", "Jade", "Jolly", "Joyful", "Just", "Keen", "Kind", "Lively",
    "Loyal", "Lucid", "Lucky", "Lunar", "Lush", "Magic", "Mellow", "Merry",
    "Mighty", "Mild", "Misty", "Modest", "Neat", "Nimble", "Noble", "Olive",
    "Patient", "Peaceful", "Placid", "Plucky", "Polite", "Proud", "Quick", "Quiet",
    "Rapid", "Rosy", "Royal", "Rustic", "Sage", "Scarlet", "Serene", "Silver",
    "Snowy", "Solar", "Steady", "Sunny", "Swift", "Teal", "Tidy", "Vivid",
];

/// Who somebody is.
#[rustfmt::skip]
pub(super) const ANIMALS: [&str; 128] = [
    "Badger", "Bat", "Bear", "Beaver", "Bee", "Bison", "Bobcat", "Buffalo",
    "Bull", "Bunny", "Camel", "Canary", "Caribou", "Cat", "Catfish", "Cheetah",
    "Chipmunk", "Cobra", "Colt", "Condor", "Cougar", "Coyote", "Crab", "Crane",
    "Cricket", "Crow", "Deer", "Dingo", "Dolphin", "Donkey", "Dove", "Dragonfly",
    "Duck", "Eagle", "Eel", "Egret", "Elephant", "Elk", "Emu", "Ermine",
    "Falcon", "Ferret", "Finch", "Firefly", "Flamingo", "Fox", "Frog", "Gazelle",
    "Gecko", "Gibbon", "Giraffe", "Goat", "Goldfish", "Goose", "Gopher", "Grouse",
    "Gull", "Hamster", "Hare", "Hawk", "Hedgehog", "Heron", "Hippo", "Horse",
    "Hound", "Ibex", "Ibis", "Iguana", "Impala", "Jackal", "Jaguar", "Jay",
    "Kestrel", "Kingfisher", "Kiwi", "Koala", "Ladybird", "Lark", "Lemming", "Lemur",
    "Leopard", "Lion", "Lizard", "Llama", "Lobster", "Lynx", "Macaw", "Magpie",
    "Mammoth", "Manatee", "Marmot", "Marten", "Meerkat", "Mole", "Mongoose", "Moose",
    "Moth", "Mouse", "Narwhal", "Newt", "Ocelot", "Octopus", "Okapi", "Oriole",
    "Osprey", "Ostrich", "Otter", "Owl", "Ox", "Panda", "Panther", "Parrot",
    "Peacock", "Pelican", "Penguin", "Pheasant", "Pigeon", "Pony", "Puffin", "Puma",
    "Quail", "Rabbit", "Raccoon", "Raven", "Robin", "Salmon", "Seal", "Walrus",
];
