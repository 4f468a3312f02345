// Loaded before Causeway by the demo, so that a demo that dies without a word takes Causeway with it: the demo holds the
// other end of its standard input, which stays open when bin/causeway.js starts itself once more in place.
import { isMainThread } from 'node:worker_threads'

const LONGEST_DRAIN_MS = 12_000

// Causeway's threads load this file too, but only the main one has the standard input.
if (isMainThread) {
  // A demo that dies may end it as a broken connection.
  process.stdin.on('error', () => undefined).once('close', end)
  process.stdin.resume()
  // Waiting for its end would otherwise keep a Causeway alive that has shut down.
  process.stdin.unref()
}

function end(): void {
  process.kill(process.pid, 'SIGTERM')
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), LONGEST_DRAIN_MS).unref()
}
