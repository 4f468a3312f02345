//go:build cluster

// Stories on an API server. They need the programs that TEST_ASSET_ETCD and TEST_ASSET_KUBE_APISERVER name.
package causeway_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"causeway"
	"causeway/changes"
	"causeway/cpid"
	"causeway/examples/webapp"
	"causeway/internal/told"
)

const patience = 20 * time.Second

// cluster is an API server with two operators of a wrapped manager, and a person who uses it with a plain client.
type cluster struct {
	*told.Changes
	person client.Client
}

func startCluster(t *testing.T) cluster {
	t.Helper()
	for _, name := range []string{"TEST_ASSET_ETCD", "TEST_ASSET_KUBE_APISERVER"} {
		if os.Getenv(name) == "" {
			t.Fatalf("%s is not set; set it to the path of the program", name)
		}
	}
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"../examples/operator/web-app.yaml"}, ErrorIfCRDPathMissing: true}
	config, err := environment.Start()
	must(t, err)
	t.Cleanup(func() { _ = environment.Stop() })
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	must(t, webapp.AddToScheme(scheme))
	plain, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	must(t, err)
	kept := &told.Changes{}
	trace, err := causeway.New(scheme, plain.GetRESTMapper(), causeway.Settings{
		Cluster: "mine", TracerProvider: kept.Tracers(), Settings: changes.Settings{LoggerProvider: kept.Loggers()},
	})
	must(t, err)
	mgr := trace.Manager(plain)
	must(t, (&webapp.Reconciler{Client: mgr.GetClient(), Scheme: scheme}).SetupWithManager(mgr))
	withoutPriorities := controller.Options{UsePriorityQueue: new(false)}
	must(t, ctrl.NewControllerManagedBy(mgr).Named("guarded").For(&corev1.ConfigMap{}).WithOptions(withoutPriorities).
		Complete(guardian{mgr.GetClient()}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	person, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	return cluster{kept, person}
}

const finalizer = "example.com/guarded"

// guardian keeps a Secret for each labelled ConfigMap, and deletes it before the ConfigMap is deleted.
type guardian struct{ client.Client }

func (g guardian) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	guarded := &corev1.ConfigMap{}
	if err := g.Get(ctx, request.NamespacedName, guarded); err != nil || guarded.Labels["guarded"] != "yes" {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: guarded.Namespace, Name: guarded.Name}}
	if guarded.DeletionTimestamp != nil {
		if err := client.IgnoreNotFound(g.Delete(ctx, secret)); err != nil || !controllerutil.RemoveFinalizer(guarded, finalizer) {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, g.Update(ctx, guarded)
	}
	if controllerutil.AddFinalizer(guarded, finalizer) {
		if err := g.Update(ctx, guarded); err != nil {
			return reconcile.Result{}, err
		}
	}
	_, err := controllerutil.CreateOrUpdate(ctx, g.Client, secret, func() error {
		secret.StringData = nil
		return nil
	})
	return reconcile.Result{}, err
}

// until waits for a condition, and fails after patience.
func (c cluster) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited until %s; told is %+v", what, c.Spans(""))
		}
	}
}

func referenceOf(resource string, object client.Object) string {
	return cpid.Reference{APIVersion: strings.Split(resource, " ")[0], Resource: strings.Split(resource, " ")[1],
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID()), ResourceVersion: object.GetResourceVersion()}.String()
}

// rootsOf returns the root changes from which a CPID descends, by the sent mergelogs.
func (c cluster) rootsOf(id string) (roots []string) {
	passed := []string{id}
	for at := 0; at < len(passed); at++ {
		mergelog, ok := c.MergelogOf(passed[at])
		if !ok || len(mergelog.Sources) == 0 {
			roots = append(roots, passed[at])
		}
		for _, source := range mergelog.Sources {
			if !slices.Contains(passed, source) {
				passed = append(passed, source)
			}
		}
	}
	return roots
}

func TestStories(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	app := &webapp.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", Annotations: map[string]string{cpidOf: first}},
		Spec: webapp.Spec{Image: "shop:1", Replicas: 1, Port: 80}}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"}}
	at := client.ObjectKeyFromObject(app)

	t.Run("what an operator makes of a change is of that change", func(t *testing.T) {
		must(t, c.person.Create(ctx, app))
		created := referenceOf("example.com/v1 webapps", app)
		c.until(t, "the status says what was done", func() bool {
			must(t, c.person.Get(ctx, at, app))
			return app.Status.ObservedGeneration == 1
		})
		service := &corev1.Service{}
		must(t, c.person.Get(ctx, at, deployment))
		must(t, c.person.Get(ctx, at, service))
		if deployment.Annotations[cpidOf] != first || service.Annotations[cpidOf] != first || len(c.Mergelogs()) > 0 {
			t.Errorf("Deployment and Service carry %v and %v, told is %v", deployment.Annotations, service.Annotations, c.Mergelogs())
		}
		c.until(t, "the reconcile has ended", func() bool { return len(c.Spans("reconcile webapp")) > 0 })
		if span := c.Spans("reconcile webapp")[0]; span.CPID != first || !slices.Equal(span.Observed, []string{created}) {
			t.Errorf("the first reconcile is %+v, and not woken by %s", span, created)
		}
		if writes := c.Spans("create apps/v1/deployments"); len(writes) != 1 ||
			!slices.Equal(writes[0].Wrote, []string{referenceOf("apps/v1 deployments", deployment)}) {
			t.Errorf("the Deployment is made by %+v", writes)
		}
	})

	t.Run("a writer that says nothing begins a change, which everybody calls the same", func(t *testing.T) {
		app.Spec.Replicas = 3
		must(t, c.person.Update(ctx, app, client.FieldOwner("somebody-else")))
		root := cpid.DerivedRoot("mine", string(app.UID), app.ResourceVersion)
		c.until(t, "the Deployment is scaled", func() bool {
			must(t, c.person.Get(ctx, at, deployment))
			return *deployment.Spec.Replicas == 3
		})
		id := deployment.Annotations[cpidOf]
		c.until(t, "the write of the person is told", func() bool { return len(c.Spans("write example.com/v1/webapps")) == 1 })
		if span := c.Spans("write example.com/v1/webapps")[0]; span.CPID != root || !slices.Equal(span.Wrote, []string{referenceOf("example.com/v1 webapps", app)}) {
			t.Errorf("the write of the person is told as %+v, not of %s", span, root)
		}
		c.until(t, "the merge is told", func() bool { _, ok := c.MergelogOf(id); return ok })
		if roots := c.rootsOf(id); !slices.Contains(roots, root) {
			t.Errorf("the Deployment's change %s comes from %v, not from %s", id, roots, root)
		}
	})

	t.Run("a reconcile that changes nothing is not told, and nothing goes in circles", func(t *testing.T) {
		asked := func(generation int64) {
			c.until(t, "the status says what was done", func() bool {
				must(t, c.person.Get(ctx, at, app))
				return app.Status.ObservedGeneration == generation
			})
		}
		asked(2)
		app.Labels = map[string]string{"nobody": "cares"}
		must(t, c.person.Update(ctx, app))
		app.Spec.Replicas = 2
		must(t, c.person.Update(ctx, app, client.FieldOwner("somebody-else")))
		asked(3)
		done := func(name string) int {
			isFailed := func(span told.Span) bool { return span.IsFailed }
			return len(slices.DeleteFunc(c.Spans(name), isFailed))
		}
		c.until(t, "the third reconcile has ended", func() bool { return done("reconcile webapp") >= 3 })
		got := []int{done("reconcile webapp"), done("update apps/v1/deployments"), done("update example.com/v1/webapps/status")}
		if !slices.Equal(got, []int{3, 2, 3}) {
			t.Errorf("%v reconciles, updates of the Deployment and of the status are told: %v", got, c.Names())
		}
	})

	t.Run("what is done before an object goes comes from its deletion", func(t *testing.T) {
		guarded := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "guarded", Labels: map[string]string{"guarded": "yes"},
			Annotations: map[string]string{cpidOf: second}}}
		must(t, c.person.Create(ctx, guarded))
		created := referenceOf("v1 configmaps", guarded)
		secret := &corev1.Secret{}
		at := client.ObjectKeyFromObject(guarded)
		c.until(t, "the Secret is there", func() bool { return c.person.Get(ctx, at, secret) == nil })
		if secret.Annotations[cpidOf] != second {
			t.Errorf("the Secret carries %v", secret.Annotations)
		}
		c.until(t, "the reconcile has ended", func() bool { return len(c.Spans("reconcile guarded")) > 0 })
		if span := c.Spans("reconcile guarded")[0]; !slices.Equal(span.Observed, []string{created}) {
			t.Errorf("the first reconcile is %+v, and not woken by %s", span, created)
		}
		must(t, c.person.Delete(ctx, guarded))
		c.until(t, "it is gone", func() bool {
			return client.IgnoreNotFound(c.person.Get(ctx, at, guarded)) == nil && c.person.Get(ctx, at, guarded) != nil
		})
		c.until(t, "the deletion is told", func() bool { return len(c.Spans("delete v1/configmaps")) == 1 })
		root := c.Spans("delete v1/configmaps")[0].CPID
		c.until(t, "the end is told", func() bool {
			return len(c.Spans("delete v1/secrets")) == 1 && len(c.Spans("update v1/configmaps")) == 2
		})
		for _, span := range []told.Span{c.Spans("delete v1/secrets")[0], c.Spans("update v1/configmaps")[1]} {
			if roots := c.rootsOf(span.CPID); span.IsFailed || !slices.Contains(roots, root) {
				t.Errorf("%+v comes from %v, not from the deletion %s", span, roots, root)
			}
		}
	})
}
