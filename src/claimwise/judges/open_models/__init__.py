"""Open models as judges: cross-encoders, HHEM, MiniCheck, LettuceDetect, and served ones."""
