//! Names of packages that imitate popular ones.

use super::finding::{AuditClass, Confidence, Detection, Risk};
use super::typosquat::is_misspelling;

const PYTHON: &[&str] = &[
    "anthropic",
    "beautifulsoup4",
    "boto3",
    "cryptography",
    "django",
    "fastapi",
    "flask",
    "google-cloud-storage",
    "httpx",
    "langchain",
    "matplotlib",
    "numpy",
    "openai",
    "opencv-python",
    "openpyxl",
    "pandas",
    "pillow",
    "playwright",
    "psycopg2",
    "pydantic",
    "pytest",
    "python-dateutil",
    "python-docx",
    "python-pptx",
    "pyyaml",
    "requests",
    "scikit-learn",
    "scipy",
    "selenium",
    "setuptools",
    "sqlalchemy",
    "tensorflow",
    "transformers",
    "urllib3",
    "virtualenv",
];

const NODE: &[&str] = &[
    "@anthropic-ai/sdk",
    "axios",
    "chalk",
    "commander",
    "cross-env",
    "dotenv",
    "electron",
    "eslint",
    "express",
    "jquery",
    "lodash",
    "mongoose",
    "next",
    "nodemon",
    "playwright",
    "prettier",
    "puppeteer",
    "react",
    "react-dom",
    "redux",
    "typescript",
    "webpack",
];

/// Reports a name that is one slip away from that of a popular package.
pub(super) fn check_package_name(manager: &str, name: &str) -> Option<Detection> {
    let popular = match manager {
        "pip" => PYTHON,
        "npm" => NODE,
        _ => return None,
    };
    let is_version = |c: char| matches!(c, '=' | '<' | '>' | '~' | '[' | '!' | ';');
    let name = name.split(is_version).next().unwrap_or(name);
    let name =
        name.rfind('@').filter(|at| *at > 0).map_or(name, |at| &name[..at]).to_ascii_lowercase();
    let imitated = popular.iter().find(|known| is_misspelling(&name, known))?;
    Some(Detection::new(
        AuditClass::Typosquat,
        Risk::Medium,
        Confidence::Likely,
        format!("installs `{name}`, a name that is nearly that of `{imitated}`"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_06_misspelled_packages_are_reported() {
        for (manager, name) in
            [("pip", "reqeusts"), ("pip", "pandsa==1.0"), ("npm", "lodahs@4"), ("npm", "exprress")]
        {
            assert!(check_package_name(manager, name).is_some(), "{name}");
        }
        for (manager, name) in [
            ("pip", "requests"),
            ("npm", "preact"),
            ("npm", "@types/lodash"),
            ("pip", "httpx[http2]"),
        ] {
            assert!(check_package_name(manager, name).is_none(), "{name}");
        }
    }
}
