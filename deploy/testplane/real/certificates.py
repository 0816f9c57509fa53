"""The API server's identity before kubelets: an authority of one plane's own, and one client it vouches for."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_DAYS = 30


def write(folder: Path) -> tuple[Path, Path, Path]:
    """(authority, client's certificate, client's key) as files in `folder`; the authority's own key is not kept."""
    authority_key, client_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _signed("testplane-nodes", authority_key, "testplane-nodes", authority_key, is_authority=True)
    client = _signed("kube-apiserver", client_key, "testplane-nodes", authority_key, is_authority=False)
    private = client_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    contents = {
        "kubelet-ca.crt": authority.public_bytes(Encoding.PEM),
        "kubelet-client.crt": client.public_bytes(Encoding.PEM),
        "kubelet-client.key": private,
    }
    for name, content in contents.items():
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)
    return folder / "kubelet-ca.crt", folder / "kubelet-client.crt", folder / "kubelet-client.key"


def _signed(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    is_authority: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(_named(subject))
        .issuer_name(_named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if not is_authority:
        made = made.add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    return made.sign(issuer_key, hashes.SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
