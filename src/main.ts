// A server reloads at SIGHUP. One that comes before it is known what is to run, or what to reload, must not end it.
process.on('SIGHUP', () => undefined)
await import('./cli/command-process.ts')
