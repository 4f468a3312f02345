import { errorText } from '../model/error-text.ts'
import { ApiError } from './api-error.ts'

const UNAUTHORIZED = 401

/** What Node says of connections that end, in words that say what happened. */
const WORDS = new Map([
  ['aborted', 'the connection broke off in the middle of an answer'],
  ['socket hang up', 'the connection was closed before an answer came'],
])
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY)/
/** What Node advises beside it helps nobody who has a kubeconfig. */
const ADVICE_OF_NODE = /; if the root CA is installed locally.*$/s

/** Why there is no answer of an API server, for an operator. */
export function troubleText(error: unknown): string {
  if (error instanceof ApiError && error.status === UNAUTHORIZED)
    return `it does not know who asks (${error.message}): the token or certificate has run out, or is of another cluster`
  const text = errorText(error).replace(ADVICE_OF_NODE, '')
  if (isCertificateTrouble(error)) return `its certificate is not trusted: ${text}`
  return WORDS.get(text) ?? text
}

/** Whether the server showed a certificate that cannot be trusted. */
export function isCertificateTrouble(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string' &&
    CERTIFICATE.test(error.code)
  )
}
