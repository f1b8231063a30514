"""Which component each row belongs to, hard or soft, and the statistics that follow; the engines live here."""
