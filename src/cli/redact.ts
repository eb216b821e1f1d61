/**
 * The last line of defence against secrets in what is printed. Errors of the library come without them already, but
 * an unexpected error may carry anything.
 */

const MASK = "***";
const SECRET_VARIABLE = /PASSW|SECRET|TOKEN|ACCESS_KEY|API_?KEY|CREDENTIAL/i;
// Shorter values are parts of ordinary words.
const SHORTEST_SECRET = 4;

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/(\bpassword\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s'"&;]+)/gi, `$1${MASK}`],
  [/(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:)[^\s"']+@/gi, `$1${MASK}@`],
  [/(\b(?:KEY_ID|SECRET|SESSION_TOKEN)\s+)'(?:[^']|'')*'/gi, `$1'${MASK}'`],
  [/(\bX-Amz-(?:Signature|Credential|Security-Token)=)[^&\s"']+/gi, `$1${MASK}`],
  [/(\bAuthorization["']?\s*[:=]\s*["']?)[^"'\n,}]+/gi, `$1${MASK}`],
];

/** Replaces secrets in a text: those of the environment, and whatever stands where a secret usually does. */
export function createRedactor(env: Readonly<Record<string, string | undefined>>): (text: string) => string {
  const secrets = Object.entries(env)
    .filter(([name, value]) => SECRET_VARIABLE.test(name) && (value ?? "").length >= SHORTEST_SECRET)
    .map(([, value]) => value as string)
    // A secret may be the beginning of another.
    .sort((a, b) => b.length - a.length);
  return (text) => {
    const withoutValues = secrets.reduce((result, secret) => result.replaceAll(secret, MASK), text);
    return PATTERNS.reduce((result, [pattern, mask]) => result.replaceAll(pattern, mask), withoutValues);
  };
}
