//! `consort certify`.

use crate::{Answer, output};
use anyhow::{Context, bail};
use consort::NodeId;
use consort::key::{Certificate, CertificateRequest, PublicId, Role, SecretKey};
use std::path::PathBuf;

/// Make a certificate: an operator's word that the holder of a key is a member of an identified group
///
/// The member is named by its public key, as `consort keygen --identity` has shown it, or by the file of its secret where that is
/// at hand. A certificate is no secret. A later certificate for the same id replaces an earlier one wherever members have
/// seen it, for example when a device has lost its secret.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  consort certify kitchen.key --by operator.key\n  consort certify kitchen.key --by operator.key --days 365\n  consort certify kitchen.key --by operator.key --may lock --realm kitchen"
)]
pub(crate) struct Args {
    /// The public key of the member, or the file of its secret
    #[arg(value_name = "KEY|FILE")]
    member: String,
    /// File of the operator's secret
    #[arg(long, value_name = "FILE")]
    by: PathBuf,
    /// Name of the group
    #[arg(long, default_value = "consort")]
    group: String,
    /// The member's id, for one that had an id before [default: it follows from the key]
    #[arg(long, value_name = "ID")]
    id: Option<NodeId>,
    /// Days for which it holds; judged by members whose clock is right [default: for ever]
    #[arg(long, value_name = "DAYS")]
    days: Option<u32>,
    /// What the member may do besides being one; members follow, answer and obey nobody who does more
    #[arg(long, value_name = "ROLE", value_delimiter = ',', value_enum, default_values_t = [May::Campaign, May::Lock, May::Break])]
    may: Vec<May>,
    /// Only election in which it may campaign, by its whole name; repeat for more [default: all]
    #[arg(long = "election", value_name = "NAME")]
    elections: Vec<String>,
    /// Only realm whose locks it may hold, and break with that role: the part of a lock's name before its first /; repeat
    /// for more [default: all]
    #[arg(long = "realm", value_name = "NAME")]
    realms: Vec<String>,
    /// Of two certificates for one id the one with the greater serial holds [default: the time in seconds]
    #[arg(long, value_name = "NUMBER")]
    serial: Option<u32>,
    /// The file to write [default: the member's file with the ending cert]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What a member may do, in the words of `--may`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum May {
    /// Campaign in elections, and lead
    Campaign,
    /// Hold locks
    Lock,
    /// Force the release of locks that others hold
    Break,
    /// Nothing besides being a member
    None,
}

fn roles(may: &[May]) -> anyhow::Result<Vec<Role>> {
    if may.contains(&May::None) && may.len() > 1 {
        bail!("--may none stands alone");
    }
    let role = |may: &May| match may {
        May::Campaign => Some(Role::Campaign),
        May::Lock => Some(Role::Lock),
        May::Break => Some(Role::Break),
        May::None => None,
    };
    Ok(may.iter().filter_map(role).collect())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let operator = SecretKey::read(&args.by)?;
    let file = PathBuf::from(&args.member);
    let (key, beside) = match args.member.parse::<PublicId>() {
        Ok(key) => (key, None),
        Err(_) => {
            let secret = SecretKey::read(&file).context("the member is named by its public key, 64 hexadecimal digits, or by the file of its secret")?;
            (secret.public(), Some(file.with_extension("cert")))
        }
    };
    if key == operator.public() {
        bail!(
            "the operator's own key must not be a member's: make one with consort keygen --identity"
        );
    }
    let Some(out) = args.out.clone().or(beside) else {
        bail!("name the file to write with --out");
    };
    if !(1..=255).contains(&args.group.len()) {
        bail!("the name of a group has 1 to 255 bytes");
    }
    let mut request = CertificateRequest::new(key, &args.group);
    (request.id, request.days) = (args.id, args.days);
    if let Some(serial) = args.serial {
        request.serial = serial;
    }
    request.roles = roles(&args.may)?;
    request.elections.clone_from(&args.elections);
    request.realms.clone_from(&args.realms);
    let certificate = Certificate::issue(&operator, &request)?;
    certificate.write(&out, "")?;
    output::line(&format!(
        "{}: id {}, serial {}",
        out.display(),
        certificate.id(),
        certificate.serial()
    ))?;
    Ok(Answer::Yes)
}
