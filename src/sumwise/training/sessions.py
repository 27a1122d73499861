"""Which session serves a fit: on this machine, among peers, or on a device."""

from sumwise.kernels.runtime.threads import Team
from sumwise.training.rounds import BoostingResult
from sumwise.training.session import BoostingSettings, Session, TrainingRows, TrainingTable


def open_session(
    table: TrainingTable,
    rows: TrainingRows,
    settings: BoostingSettings,
    team: Team,
    past: BoostingResult | None,
) -> Session:
    """Return the session of a fit, where its table is."""
    if settings.parallel.peers.size > 1:
        from sumwise.training.peer_session import FeatureSession  # few fits have peers

        return FeatureSession(table, rows, settings, team, past)
    if rows.shards is not None:
        from sumwise.training.peer_session import PeerSession

        return PeerSession(table, rows, settings, team, past)
    if not table.on_devices:
        return Session(table, rows, settings, team, past)
    from sumwise.training.device_session import DeviceSession  # needs a device

    return DeviceSession(table, rows, settings, team, past)
