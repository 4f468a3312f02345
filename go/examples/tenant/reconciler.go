package tenant

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler reconciles Tenants.
type Reconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("tenant").For(&Tenant{}).
		Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).Owns(&corev1.ConfigMap{}).Owns(&corev1.ResourceQuota{}).Complete(r)
}

// Reconcile creates the objects of a Tenant, updates its status, and deletes them before the Tenant is deleted.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	t := &Tenant{}
	if err := r.Get(ctx, request.NamespacedName, t); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if t.DeletionTimestamp != nil {
		return ctrl.Result{}, r.clearUp(ctx, t)
	}
	if controllerutil.AddFinalizer(t, Finalizer) {
		// The new version triggers the next reconcile.
		return ctrl.Result{}, r.Update(ctx, t)
	}
	if err := r.apply(ctx, t); err != nil {
		return ctrl.Result{}, err
	}
	deployment, err := r.make(ctx, t)
	if err != nil {
		return ctrl.Result{}, err
	}
	status := Status{ObservedGeneration: t.Generation, ReadyReplicas: deployment.Status.ReadyReplicas}
	if status == t.Status {
		return ctrl.Result{}, nil
	}
	t.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, t)
}

// apply writes the settings by server-side apply.
func (r *Reconciler) apply(ctx context.Context, t *Tenant) error {
	settings := corev1ac.ConfigMap(t.Name, t.Namespace).
		WithData(map[string]string{"image": t.Spec.Image, "pods": strconv.Itoa(int(t.Spec.Pods))}).
		WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion(GroupVersion.String()).WithKind("Tenant").
			WithName(t.Name).WithUID(t.UID).WithController(true))
	return r.Apply(ctx, settings, client.FieldOwner("tenant-operator"), client.ForceOwnership)
}

// make creates or updates quota, Deployment and Service.
func (r *Reconciler) make(ctx context.Context, t *Tenant) (*appsv1.Deployment, error) {
	labels := map[string]string{"app": t.Name}
	named := metav1.ObjectMeta{Namespace: t.Namespace, Name: t.Name}
	quota := &corev1.ResourceQuota{ObjectMeta: named}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, quota, func() error {
		quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(t.Spec.Pods), resource.DecimalSI)}
		return controllerutil.SetControllerReference(t, quota, r.Scheme)
	}); err != nil {
		return nil, err
	}
	deployment := &appsv1.Deployment{ObjectMeta: named}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		deployment.Spec.Replicas = &t.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app"}}
		}
		deployment.Spec.Template.Spec.Containers[0].Image = t.Spec.Image
		return controllerutil.SetControllerReference(t, deployment, r.Scheme)
	}); err != nil {
		return nil, err
	}
	service := &corev1.Service{ObjectMeta: named}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		service.Spec.Selector = labels
		if len(service.Spec.Ports) == 0 {
			service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		}
		return controllerutil.SetControllerReference(t, service, r.Scheme)
	})
	return deployment, err
}

// clearUp deletes the settings; garbage collection deletes the rest once the finalizer is removed.
func (r *Reconciler) clearUp(ctx context.Context, t *Tenant) error {
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: t.Name}}
	if err := r.Get(ctx, client.ObjectKeyFromObject(settings), settings); client.IgnoreNotFound(err) != nil {
		return err
	} else if err == nil {
		if err := r.Delete(ctx, settings); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if !controllerutil.RemoveFinalizer(t, Finalizer) {
		return nil
	}
	return r.Update(ctx, t)
}
