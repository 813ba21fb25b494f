"""Every error that a user can cause, one specific type per kind.

The command line prints the message as one line on stderr and exits with code 2, or 1 where a run
was being trained.
"""

from pathlib import Path


class PinnsigError(ValueError):
    """Base of all errors raised for bad input; the message says what would be right."""


def one_line(error: BaseException) -> str:
    """Return what an error says in one line, behind its type where it is none of ours."""
    if isinstance(error, PinnsigError):
        return whole_message(error)
    return f"{type(error).__name__}: {first_line(error)}"


def whole_message(error: BaseException) -> str:
    """Return all that an error says as one line; its type's name where it says nothing."""
    return " ".join(str(error).split()) or type(error).__name__


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, which may be pages."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")


class ActivationError(PinnsigError):
    """An activation, its parameters or its expression cannot be used."""


class CalibrationError(PinnsigError):
    """A calibration target cannot be met."""


class InitializerError(PinnsigError):
    """An initialiser or its parameters cannot be used."""


class ProblemError(PinnsigError):
    """A problem is unknown, cannot be loaded, or is not well formed."""


class ChangedCodeError(ProblemError):
    """A file of a problem's code is another than the one that was planned with, or trusted."""


class TrustError(PinnsigError):
    """Code that came with a run would be run, and nobody has said to trust it."""


class DerivativeError(PinnsigError):
    """A partial derivative was asked for that cannot be given."""


class SamplingError(PinnsigError):
    """Points cannot be drawn as asked."""


class SettingsError(PinnsigError):
    """A setting has an unknown name or an unusable value."""


class DeviceError(PinnsigError):
    """The device is not there, or cannot do what the run needs."""


class RunError(PinnsigError):
    """A run directory cannot be written or read."""


class ExportError(RunError):
    """A run cannot be written in a format of other programs."""


class BusyError(RunError):
    """Another process is training the run."""


class TrainingError(PinnsigError):
    """Training cannot start: the loss is not finite. Or it failed on its way.

    Attributes:
        path: the run directory with what there is, where training had started.
    """

    def __init__(self, message: str, path: Path | None = None) -> None:
        super().__init__(message)
        self.path = path


class RankError(PinnsigError):
    """The processes of a run cannot be started or reached, or one of them has ended."""


class SignalError(PinnsigError):
    """An analysis of an untrained network cannot be made as asked."""


class FigureError(PinnsigError):
    """A figure cannot be drawn; one of the paper is unknown, or its record cannot be used."""


class ReportError(PinnsigError):
    """A report cannot be made of what was named, or not be written."""


class OutsideDomainWarning(UserWarning):
    """A prediction is asked for where a network was not trained."""


class NoReferenceWarning(UserWarning):
    """A problem's solution fails at points that are asked for, and is left out."""


class DatasetError(PinnsigError):
    """An image set is not there, damaged, or not what its name says."""
