class Substrate < Formula
  desc "Coordination layer for coding agents: mail, leases, guards, memory and a journal"
  homepage "URL"
  version "VERSION"
  license any_of: ["MIT", "Apache-2.0"]

BLOCKS
  def install
    bin.install "bin/substrate", "bin/substrate-hook"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install "share/bash-completion/completions/substrate"
    zsh_completion.install "share/zsh/site-functions/_substrate"
    fish_completion.install "share/fish/vendor_completions.d/substrate.fish"
  end

  def caveats
    "Run `substrate up` to register its hooks. Nothing is changed before."
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/substrate --version")
  end
end
