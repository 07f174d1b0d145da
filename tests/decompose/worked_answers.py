"""Realistic answers and how they should be split, written by hand before the code was tuned.

An expected claim is ``(kind, wording)`` or ``(kind, wording, details)``. The kind is ``fact``,
``action`` or the reason why a stretch makes no claim. Details are compared with the claim's
fields; ``marks`` with the targets of its citation markers. Unnamed details must be empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Worked(NamedTuple):
    name: str
    answer: str
    expected: list[tuple[str, str] | tuple[str, str, dict[str, Any]]]
    question: str | None = None


WORKED = [
    Worked(
        "pyramid",
        "The Great Pyramid of Giza was built around 2560 BCE for Pharaoh Khufu and is the only one "
        "of the Seven Wonders of the Ancient World still standing. It is composed entirely of "
        "limestone blocks and stands 200 meters tall.",
        [
            ("fact", "The Great Pyramid of Giza was built around 2560 BCE for Pharaoh Khufu"),
            (
                "fact",
                "The Great Pyramid of Giza is the only one of the Seven Wonders of the Ancient "
                "World still standing.",
                {"antecedent": "The Great Pyramid of Giza"},
            ),
            (
                "fact",
                "The Great Pyramid of Giza is composed entirely of limestone blocks",
                {"antecedent": "The Great Pyramid of Giza"},
            ),
            (
                "fact",
                "The Great Pyramid of Giza stands 200 meters tall.",
                {"antecedent": "The Great Pyramid of Giza"},
            ),
        ],
    ),
    Worked(
        "day ticket",
        "Good that you ask. A day ticket for the whole network costs €21 [1] and it is valid from "
        "09:00 until the last train. On Saturdays, Sundays and public holidays it is valid all day "
        "[1]. Railcard discounts do not apply to day tickets.",
        [
            ("framing", "Good that you ask."),
            ("fact", "A day ticket for the whole network costs €21", {"marks": ["1"]}),
            (
                "fact",
                "The day ticket for the whole network is valid from 09:00 until the last train.",
                {"antecedent": "A day ticket for the whole network"},
            ),
            (
                "fact",
                "On Saturdays, Sundays and public holidays it is valid all day.",
                {"marks": ["1"]},
            ),
            ("fact", "Railcard discounts do not apply to day tickets."),
        ],
    ),
    Worked(
        "refund done",
        "I'm sorry to hear that! I have refunded your order #4411 and I've sent you an email with "
        "the details. Refunds are sent within 5 days. Let me know if you need anything else!",
        [
            ("framing", "I'm sorry to hear that!"),
            ("action", "I have refunded your order #4411"),
            ("action", "I've sent you an email with the details."),
            ("fact", "Refunds are sent within 5 days."),
            ("framing", "Let me know if you need anything else!"),
        ],
    ),
    Worked(
        "ticket cancelled",
        "Your ticket has been cancelled. We have escalated this to our billing team. I'll open a "
        "new case tomorrow. The order was shipped by the warehouse in 2019.",
        [
            ("action", "Your ticket has been cancelled."),
            ("action", "We have escalated this to our billing team."),
            ("framing", "I'll open a new case tomorrow."),
            ("fact", "The order was shipped by the warehouse in 2019."),
        ],
    ),
    Worked(
        "curie",
        "Marie Curie was a Polish-born physicist. She also founded the Radium Institute in Paris. "
        "Her husband shared the 1903 prize.",
        [
            ("fact", "Marie Curie was a Polish-born physicist."),
            (
                "fact",
                "Marie Curie also founded the Radium Institute in Paris.",
                {"antecedent": "Marie Curie"},
            ),
            (
                "fact",
                "Marie Curie's husband shared the 1903 prize.",
                {"antecedent": "Marie Curie"},
            ),
        ],
    ),
    Worked(
        "two women",
        "Marie Curie met Lise Meitner in 1911. She was already famous.",
        [
            ("fact", "Marie Curie met Lise Meitner in 1911."),
            ("fact", "She was already famous.", {"ambiguous": True}),
        ],
    ),
    Worked(
        "born and died",
        "She was born in Paris in 1920 and died in Rome in 1999.",
        [
            ("fact", "She was born in Paris in 1920", {"ambiguous": True}),
            ("fact", "She died in Rome in 1999.", {"ambiguous": True, "antecedent": "She"}),
        ],
    ),
    Worked(
        "two founders",
        "Acme was founded in 1990 and Globex joined it in 1992. Acme makes engines; Globex sells "
        "them in Europe. Acme is based in Paris, but Globex has its seat in Rome.",
        [
            ("fact", "Acme was founded in 1990"),
            ("fact", "Globex joined it in 1992."),
            ("fact", "Acme makes engines"),
            ("fact", "Globex sells them in Europe."),
            ("fact", "Acme is based in Paris"),
            ("fact", "Globex has its seat in Rome."),
        ],
    ),
    Worked(
        "qualifiers scope over both",
        "The bridge was closed and the tunnel was opened in 1998. The shop is free and the museum "
        "is open if you have a card. According to the report, sales rose and costs fell. The "
        "minister said the tax was low and the budget was balanced.",
        [
            ("fact", "The bridge was closed and the tunnel was opened in 1998.",
             {"compound": ("and",)}),
            ("fact", "The shop is free and the museum is open if you have a card.",
             {"compound": ("and",)}),
            ("fact", "According to the report, sales rose and costs fell.",
             {"compound": ("and",)}),
            ("fact", "The minister said the tax was low and the budget was balanced.",
             {"compound": ("and",)}),
        ],
    ),
    Worked(
        "noun phrases stay together",
        "Marks and Spencer sells bread and butter. The dose is between 3 and 5 mg. Both adults and "
        "children need a ticket. Research and development costs are rising.",
        [
            ("fact", "Marks and Spencer sells bread and butter."),
            ("fact", "The dose is between 3 and 5 mg."),
            ("fact", "Both adults and children need a ticket."),
            ("fact", "Research and development costs are rising."),
        ],
    ),
    Worked(
        "relative clauses and appositives",
        "The tower, which opened in 1999, is 139 m tall. Ada Lovelace, a British mathematician, "
        "wrote the first program. The fee covers meals as well as drinks.",
        [
            ("fact", "The tower opened in 1999"),
            ("fact", "The tower is 139 m tall.", {"antecedent": "The tower"}),
            ("fact", "Ada Lovelace was a British mathematician"),
            ("fact", "Ada Lovelace wrote the first program.", {"antecedent": "Ada Lovelace"}),
            ("fact", "The fee covers meals as well as drinks.", {"compound": ("as well as",)}),
        ],
    ),
    Worked(
        "refusal",
        "I'm sorry, but I couldn't find this in the documents. The provided sources do not mention "
        "opening hours. I don't know.",
        [
            ("refusal", "I'm sorry, but I couldn't find this in the documents."),
            ("refusal", "The provided sources do not mention opening hours."),
            ("refusal", "I don't know."),
        ],
    ),
    Worked(
        "refusal with content",
        "I can't find the fee, but the museum opens at 9:00. It depends. The tower is probably "
        "139 m tall. I think it's beautiful! Would you like to know more?",
        [
            ("refusal", "I can't find the fee"),
            ("fact", "The museum opens at 9:00."),
            ("hedge", "It depends."),
            ("fact", "The tower is probably 139 m tall."),
            ("opinion", "I think it's beautiful!"),
            ("question", "Would you like to know more?"),
        ],
    ),
    Worked(
        "markdown",
        "## Delivery options\n\nHere is what I found:\n\n- **Standard** takes 3–5 days [1]\n"
        "- **Express** takes *one* day and costs `$9` [2, 3]\n\n"
        "> Orders over $50 ship free.[^4]\n\n"
        "```sh\ncurl https://x.test/a[0]\n```\n\nSee the [refund policy](https://x.test/refunds) "
        "for details.",
        [
            ("framing", "Delivery options"),
            ("framing", "Here is what I found:"),
            ("fact", "Standard takes 3–5 days", {"marks": ["1"]}),
            ("fact", "Express takes one day", {"marks": ["2", "3"]}),
            ("fact", "Express costs $9", {"marks": ["2", "3"], "antecedent": "Express"}),
            ("fact", "Orders over $50 ship free.", {"marks": ["4"]}),
            ("code", "curl https://x.test/a[0]"),
            ("framing", "See the refund policy for details.",
             {"marks": ["https://x.test/refunds"]}),
        ],
    ),
    Worked(
        "lead-in",
        "The plans include:\n- free delivery\n- 30 days returns\n\nKey points:\n1. The trial lasts "
        "14 days.\n2. You can cancel at any time.",
        [
            ("framing", "The plans include:"),
            ("fact", "The plans include free delivery"),
            ("fact", "The plans include 30 days returns"),
            ("framing", "Key points:"),
            ("fact", "The trial lasts 14 days."),
            ("fact", "You can cancel at any time."),
        ],
    ),
    Worked(
        "table",
        "| Plan | Price |\n|---|---|\n| Basic | €5 [1] |\n| Pro | €9 |",
        [
            ("framing", "Plan | Price"),
            ("fact", "Basic: price €5", {"marks": ["1"]}),
            ("fact", "Pro: price €9"),
        ],
    ),
    Worked(
        "medical",
        "Ibuprofen is a nonsteroidal anti-inflammatory drug (NSAID). It should not be taken during "
        "the last trimester of pregnancy (Smith et al., 2019). Adults may take 200–400 mg every 4 "
        "to 6 hours, but the total must not exceed 1.2 g per day【4†source】. It is important that "
        "you talk to a doctor first.",
        [
            ("fact", "Ibuprofen is a nonsteroidal anti-inflammatory drug (NSAID)."),
            (
                "fact",
                "Ibuprofen should not be taken during the last trimester of pregnancy.",
                {"antecedent": "Ibuprofen", "marks": ["smith-2019"]},
            ),
            ("fact", "Adults may take 200–400 mg every 4 to 6 hours", {"marks": ["4"]}),
            ("fact", "The total must not exceed 1.2 g per day.", {"marks": ["4"]}),
            ("fact", "It is important that you talk to a doctor first."),
        ],
    ),
    Worked(
        "legal",
        "Under Sec. 5(2) of the Act, a tenant must give 30 days' notice. The landlord may not "
        "enter without consent, unless there is an emergency. In Smith v. Jones, 5 U.S. 137, the "
        "court held that oral notice is void and that the lease continues.",
        [
            ("fact", "Under Sec. 5(2) of the Act, a tenant must give 30 days' notice."),
            ("fact",
             "The landlord may not enter without consent, unless there is an emergency."),
            ("fact",
             "In Smith v. Jones, 5 U.S. 137, the court held that oral notice is void and that the "
             "lease continues.", {"compound": ("and",)}),
        ],
    ),
    Worked(
        "company",
        "Initech Inc. was founded in 1976. The company has 5,000 employees, while Hooli has "
        "20,000. Their headquarters are in Texas.",
        [
            ("fact", "Initech Inc. was founded in 1976."),
            ("fact", "Initech Inc. has 5,000 employees", {"antecedent": "Initech Inc."}),
            ("fact", "Hooli has 20,000."),
            ("fact", "Their headquarters are in Texas.", {"ambiguous": True}),
        ],
    ),
    Worked(
        "question names the subject",
        "It is 139 m tall and opened in 1989. (source: towers.md)",
        [
            ("fact", "The tower is 139 m tall", {"antecedent": "the tower",
                                                 "marks": ["towers.md"]}),
            ("fact", "The tower opened in 1989.", {"antecedent": "the tower",
                                                   "marks": ["towers.md"]}),
        ],
        "How tall is the tower?",
    ),
    Worked(
        "chinese",
        "北京是中国的首都[1]。它有2100万人口！你想了解更多吗？对不起，我不知道。",
        [
            ("fact", "北京是中国的首都。", {"marks": ["1"]}),
            ("fact", "它有2100万人口！"),
            ("question", "你想了解更多吗？"),
            ("refusal", "对不起，我不知道。"),
        ],
    ),
    Worked(
        "japanese",
        "東京タワーは1958年に完成しました。高さは333メートルです。「とても高い。」と彼は言いました。",
        [
            ("fact", "東京タワーは1958年に完成しました。"),
            ("fact", "高さは333メートルです。"),
            ("fact", "「とても高い。」と彼は言いました。"),
        ],
    ),
    Worked(
        "german",
        "Der Turm ist 139 m hoch und wurde 1989 eröffnet. Er steht in der Nähe des Bahnhofs.",
        [
            ("fact", "Der Turm ist 139 m hoch und wurde 1989 eröffnet."),
            ("fact", "Er steht in der Nähe des Bahnhofs."),
        ],
    ),
    Worked(
        "sources at the end",
        "Great question! Returns are free.¹ You have 30 days.[1][2]\n\n**Sources:**\n"
        "[1] returns.md\n[2] https://x.test/returns",
        [
            ("framing", "Great question!"),
            ("fact", "Returns are free.", {"marks": ["1"]}),
            ("fact", "You have 30 days.", {"marks": ["1", "2"]}),
            ("framing", "Sources:"),
            ("framing", "returns.md", {"marks": ["1"]}),
            ("framing", "https://x.test/returns", {"marks": ["2"]}),
        ],
    ),
    Worked(
        "not citations",
        "He wrote “teh [sic] cat” in 2019 (2019). The area is 5 km² in all.\n- [ ] buy milk\n"
        "- [x] call Ann",
        [
            ("fact", "He wrote “teh [sic] cat” in 2019 (2019).", {"ambiguous": True}),
            ("fact", "The area is 5 km² in all."),
            ("fact", "buy milk"),
            ("fact", "call Ann"),
        ],
    ),
    Worked(
        "yes",
        "Yes, dogs are welcome on a lead. Cats are not allowed. Please keep your dog quiet.",
        [
            ("fact", "Yes, dogs are welcome on a lead."),
            ("fact", "Cats are not allowed."),
            ("fact", "Please keep your dog quiet."),
        ],
    ),
    Worked(
        "mark alone",
        "The museum is free on Mondays.\n[1]\n\nIt is raining. The best museum in town is amazing.",
        [
            ("fact", "The museum is free on Mondays.", {"marks": ["1"]}),
            ("fact", "It is raining."),
            ("opinion", "The best museum in town is amazing."),
        ],
    ),
]  # fmt: skip
