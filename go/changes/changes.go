// Package changes decides which change a write is for and tells mergelogs over OpenTelemetry, for whatever client of Kubernetes
// there is.
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

// Scope names this library as the one that spans, mergelogs and metrics come from.
const Scope = "causeway-instrumentation"

// Settings are those of a Changes; the zero value is what most want.
type Settings struct {
	// MaxAncestors is how many ancestors an object carries at most: 10 where it is 0, none where it is negative. It is the same in
	// every controller of a cluster.
	MaxAncestors int
	// MaxSources is how many sources a mergelog has at most, from 2: 1024 where it is 0, which is what Causeway takes.
	MaxSources int
	// Keys are the annotations that carry a trace context: cpid.DefaultKeys where they are empty.
	Keys cpid.Keys
	// NewCPID makes CPIDs: random UUIDs where it is nil.
	NewCPID func() string
	// Now is the clock that mergelogs are dated by.
	Now func() time.Time
	// LoggerProvider is where mergelogs go; whatever is registered where it is nil.
	LoggerProvider log.LoggerProvider
	// Logger is told what is lost, at most once a minute: that of controller-runtime where it is zero.
	Logger logr.Logger
}

// Changes does what a controller does about changes (section 4.2 of the CPID paper). It waits for nothing, and a mergelog
// that nobody takes is counted. It is safe for concurrent use.
type Changes struct {
	settings Settings
	sender   sender
	planned  *planned
}

// Detail is what a mergelog tells beside its CPIDs.
type Detail struct {
	// Object is to carry the new CPID. Its version is known only after the write: Merge and Plan do not tell it, Tell does.
	Object cpid.Reference
	// Reason says why, in a few words.
	Reason string
	// Writer is who made the change, where that is another than who tells of it.
	Writer string
}

// New checks the settings, and fails where a limit makes no sense.
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

// Inject gives a copy of an object's annotations that carries the trace context.
func (c *Changes) Inject(change cpid.Context, annotations map[string]string) map[string]string {
	return cpid.Inject(change.Sound(), annotations, c.settings.Keys, c.settings.MaxAncestors)
}

// NewRoot begins a change that follows from nothing, such as an operator's, and sends its mergelog.
func (c *Changes) NewRoot(ctx context.Context, detail Detail) cpid.Context {
	return c.Merge(ctx, nil, detail)
}

// Merge gives the trace context for what follows from all of these, and sends its mergelog at once where it has a new CPID. It
// begins a change where none is left. For a write that may be refused there is Plan.
func (c *Changes) Merge(ctx context.Context, causes []cpid.Context, detail Detail) cpid.Context {
	change, sources, isNew := cpid.Merge(soundOnes(causes), c.settings.MaxAncestors, c.newCPID)
	if isNew {
		detail.Object.ResourceVersion = ""
		c.Tell(ctx, cpid.Mergelog{CPID: change.CPID, Sources: sources}, detail, c.settings.Now())
	}
	return change
}

// Plan does the same for a write that the API server has still to accept: the mergelog goes out with Accepted. The same causes and
// object give the same trace context again, so that a write tried again after a conflict makes no second one.
func (c *Changes) Plan(causes []cpid.Context, detail Detail) cpid.Context {
	sound := soundOnes(causes)
	detail.Object.ResourceVersion = ""
	return c.planned.plan(sound, detail, c.settings.Now(), func() (cpid.Context, []string, bool) {
		return cpid.Merge(sound, c.settings.MaxAncestors, c.newCPID)
	})
}

// Accepted says that the API server accepted a write of this change.
func (c *Changes) Accepted(ctx context.Context, change cpid.Context) {
	if told, ok := c.planned.accept(change.CPID); ok {
		c.Tell(ctx, told.mergelog, told.detail, told.at)
	}
}

// IsUntold says whether a change was planned here and nothing of it was accepted so far.
func (c *Changes) IsUntold(change cpid.Context) bool { return c.planned.isUntold(change.CPID) }

// Tell sends a mergelog of something that happened at that time.
func (c *Changes) Tell(ctx context.Context, mergelog cpid.Mergelog, detail Detail, at time.Time) {
	for _, step := range mergelog.InSteps(c.settings.MaxSources, c.newCPID) {
		if step.CPID == mergelog.CPID {
			c.sender.send(ctx, step, detail, at)
		} else {
			c.sender.send(ctx, step, Detail{}, at)
		}
	}
}

// Lost is how many mergelogs neither a logger nor a sampled span took; also the metric cpid.instrumentation.lost_mergelogs. What the
// SDK loses after it took them, its own metrics tell.
func (c *Changes) Lost() int64 { return c.sender.lost.Load() }

// newCPID makes a random one wherever what was given makes none.
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
