// Package changes decides which change a write belongs to and sends mergelogs over OpenTelemetry, for any Kubernetes client.
package changes

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/log"

	"causeway/cpid"
	"causeway/internal/seldom"
)

// Scope is the instrumentation scope of this library's spans, mergelogs and metrics.
const Scope = "causeway-instrumentation"

// Settings are those of a Changes; the zero value has the defaults.
type Settings struct {
	// MaxAncestors is the most ancestors an object carries: 0 means 10, a negative number none. Use the same in every controller of a
	// cluster.
	MaxAncestors int
	// MaxSources is the most sources of a mergelog, at least 2; 0 means 1024, which is Causeway's limit.
	MaxSources int
	// Keys are the annotations that carry a trace context; empty means cpid.DefaultKeys.
	Keys cpid.Keys
	// NewCPID makes CPIDs; nil means random UUIDs.
	NewCPID func() string
	// Now is the clock for the times of mergelogs; nil means time.Now.
	Now func() time.Time
	// LoggerProvider gets the mergelogs; nil means the registered one.
	LoggerProvider log.LoggerProvider
	// Logger logs losses, at most once a minute; zero means the logger of controller-runtime.
	Logger logr.Logger
}

// Changes has the operations of a controller on changes (section 4.2 of the CPID paper). They do not block, and a mergelog that cannot
// be sent is counted. It is safe for concurrent use.
type Changes struct {
	settings Settings
	sender   sender
	planned  *planned
}

// Detail has the details of a mergelog besides its CPIDs.
type Detail struct {
	// Object is to carry the new CPID. Merge and Plan ignore its version, which is known only after the write; Tell sends it.
	Object cpid.Reference
	// Reason is a short text for people.
	Reason string
	// Writer made the change, if not the reporter.
	Writer string
}

// New checks the settings, and fails when a limit is invalid.
func New(settings Settings) (*Changes, error) {
	switch {
	case settings.MaxAncestors == 0:
		settings.MaxAncestors = cpid.MaxAncestors
	case settings.MaxAncestors < 0:
		settings.MaxAncestors = 0
	}
	if settings.MaxSources == 0 {
		settings.MaxSources = cpid.MaxSources
	}
	if settings.MaxSources < 2 {
		return nil, fmt.Errorf("MaxSources is %d; give a whole number from 2 on", settings.MaxSources)
	}
	if settings.Keys == (cpid.Keys{}) {
		settings.Keys = cpid.DefaultKeys
	}
	if settings.Keys.CPID == "" || settings.Keys.Ancestors == "" || settings.Keys.CPID == settings.Keys.Ancestors {
		return nil, fmt.Errorf("Keys are %q and %q; give two different annotations", settings.Keys.CPID, settings.Keys.Ancestors)
	}
	if settings.NewCPID == nil {
		settings.NewCPID = cpid.New
	}
	if settings.Now == nil {
		settings.Now = time.Now
	}
	losses := seldom.NewLosses(settings.Logger, settings.Now)
	return &Changes{settings: settings, sender: sender{provider: settings.LoggerProvider, losses: losses}, planned: newPlanned()}, nil
}

// Keys are the annotations that carry a trace context.
func (c *Changes) Keys() cpid.Keys { return c.settings.Keys }

// Extract reads the trace context of an object's annotations.
func (c *Changes) Extract(annotations map[string]string) cpid.Context {
	return cpid.Extract(annotations, c.settings.Keys, c.settings.MaxAncestors)
}

// Inject returns a copy of an object's annotations that carries the trace context.
func (c *Changes) Inject(change cpid.Context, annotations map[string]string) map[string]string {
	return cpid.Inject(change.Sound(), annotations, c.settings.Keys, c.settings.MaxAncestors)
}

// NewRoot begins a root change, such as a person's, and sends its mergelog.
func (c *Changes) NewRoot(ctx context.Context, detail Detail) cpid.Context {
	return c.Merge(ctx, nil, detail)
}

// Merge returns the trace context for work that follows from all of these, and sends its mergelog at once if it has a new CPID.
// Without causes it begins a root change. For a write that may be refused use Plan.
func (c *Changes) Merge(ctx context.Context, causes []cpid.Context, detail Detail) cpid.Context {
	change, sources, isNew := cpid.Merge(soundOnes(causes), c.settings.MaxAncestors, c.newCPID)
	if isNew {
		detail.Object.ResourceVersion = ""
		c.Tell(ctx, cpid.Mergelog{CPID: change.CPID, Sources: sources}, detail, c.settings.Now())
	}
	return change
}

// Plan does the same for a write that the API server has yet to accept: Accepted sends the mergelog. The same causes and object give
// the same trace context again, so that a retry after a conflict makes no second change.
func (c *Changes) Plan(causes []cpid.Context, detail Detail) cpid.Context {
	sound := soundOnes(causes)
	detail.Object.ResourceVersion = ""
	return c.planned.plan(sound, detail, c.settings.Now(), func() (cpid.Context, []string, bool) {
		return cpid.Merge(sound, c.settings.MaxAncestors, c.newCPID)
	})
}

// Accepted reports that the API server accepted a write of this change.
func (c *Changes) Accepted(ctx context.Context, change cpid.Context) {
	if told, ok := c.planned.accept(change.CPID); ok {
		c.Tell(ctx, told.mergelog, told.detail, told.at)
	}
}

// IsUntold reports whether a change was planned here and no write of it was accepted yet.
func (c *Changes) IsUntold(change cpid.Context) bool { return c.planned.isUntold(change.CPID) }

// Tell sends a mergelog with this time.
func (c *Changes) Tell(ctx context.Context, mergelog cpid.Mergelog, detail Detail, at time.Time) {
	for _, step := range mergelog.InSteps(c.settings.MaxSources, c.newCPID) {
		if step.CPID == mergelog.CPID {
			c.sender.send(ctx, step, detail, at)
		} else {
			c.sender.send(ctx, step, Detail{}, at)
		}
	}
}

// Lost is how many mergelogs neither a logger nor a sampled span took; also the metric cpid.instrumentation.lost_mergelogs. The SDK's own
// metrics count what it loses later.
func (c *Changes) Lost() int64 { return c.sender.lost.Load() }

// newCPID returns a random UUID when NewCPID returns an invalid one.
func (c *Changes) newCPID() string {
	if id, ok := cpid.Parse(c.settings.NewCPID()); ok {
		return id
	}
	return cpid.New()
}

func soundOnes(given []cpid.Context) []cpid.Context {
	sound := make([]cpid.Context, 0, len(given))
	for _, one := range given {
		if one = one.Sound(); !one.IsZero() {
			sound = append(sound, one)
		}
	}
	return sound
}
