"""What an open model is called as a judge: its name, its labeler, its settings in words."""

from __future__ import annotations

from claimwise.judges.open_models.model_name import ModelName

_LONGEST_TITLE = 100  # a labeler's id has at most 200 characters


class OpenJudgeIdentity:
    """The attributes of a judge that its model decides.

    ``name`` is what users type, so that another process can load the same judge. Labels carry the
    model's name and a fingerprint of its files: other weights are another judge. Nobody has
    measured here how far it agrees with people.
    """

    agreement: str | None = None
    threshold: float = 0.5

    def __init__(self, name: ModelName, fingerprint: str, settings: str) -> None:
        title = name.title[:_LONGEST_TITLE]
        self.name: str = f"{name.kind}:{name.text}"
        self.version: str = fingerprint
        self.labeler: str = f"verifier:{name.kind}:{title}-{fingerprint}"
        self.model: str = f"{title}@{name.revision}" if name.revision else title
        self.prompt_ver: str = settings
