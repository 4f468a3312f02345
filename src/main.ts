const [, , command = '-'] = process.argv

// A server reloads at SIGHUP. One that comes before there is anything to reload must not end it.
if (command === 'observe' || command.startsWith('-')) process.on('SIGHUP', () => undefined)
await import('./cli/command-process.ts')
