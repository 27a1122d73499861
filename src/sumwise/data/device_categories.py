"""DeviceCategories: the categorical features of a table, in the memory of a device."""

from dataclasses import dataclass

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.kernels.table.layout import Categories


@dataclass(frozen=True)
class DeviceCategories:
    """What kernels know of categorical features; all of them are narrow.

    Attributes
    ----------
    known : Categories
        The same on the host.
    category_place : DeviceArray of int32, shape (n_features,)
        Place of a feature among the categorical ones, -1 for any other feature.
    n_choices : DeviceArray of int64, shape (n_categorical,)
        Bins that a set may have.
    one_hot : DeviceArray of uint8, shape (n_categorical,)
        Whether sets have one bin.
    set_lanes : DeviceArray of int32
        Lanes of the usable ones, ascending.
    """

    known: Categories
    category_place: DeviceArray
    n_choices: DeviceArray
    one_hot: DeviceArray
    set_lanes: DeviceArray

    @classmethod
    def upload(
        cls, device: Device, known: Categories, feature_lane: np.ndarray
    ) -> "DeviceCategories":
        """Upload what is known; ``feature_lane`` has the lane of each feature, -1 for none."""
        lanes = feature_lane[known.place >= 0]
        return cls(
            known,
            device.upload(known.place.astype(np.int32)),
            device.upload(known.n_choices),
            device.upload(known.one_hot),
            device.upload(lanes[lanes >= 0].astype(np.int32)),
        )

    @property
    def n_categorical(self) -> int:
        return self.n_choices.size

    @property
    def n_set_lanes(self) -> int:
        return self.set_lanes.size
